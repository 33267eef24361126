// A host of the simulated world: a device, its card, and applications that are coroutines.
//
//   Task<> client(Host& host, QueuePair& qp, CompletionQueue& cq) {
//     host.post(qp, request);
//     const nic::Completion done = co_await host.completion(cq);
//   }
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/device.h"
#include "nic/card.h"
#include "world/sim/card_world.h"
#include "world/sim/fabric.h"
#include "world/sim/held_parcels.h"
#include "world/sim/seeded_numbers.h"
#include "world/sim/signal.h"
#include "world/sim/task.h"

namespace weft::sim {

class World;

// Memory of a simulated host that has been registered. Its addresses come from a counter, not from the machine, so
// that they are the same in every run.
struct Memory {
  std::span<std::byte> bytes;
  std::uint64_t address = 0;
  wire::Key key{};
  [[nodiscard]] nic::Sge sge(std::uint64_t offset, std::uint32_t length) const {
    return {address + offset, length, key};
  }
  [[nodiscard]] nic::Sge sge() const { return sge(0, static_cast<std::uint32_t>(bytes.size())); }
};

class Host {
 public:
  static constexpr bool kPostsToItself = false;

  Host(World& world, const wire::Address& address, const host::DeviceConfig& config, std::uint64_t seed);

  [[nodiscard]] HostIndex index() const { return index_; }
  [[nodiscard]] const wire::Address& address() const { return address_; }
  [[nodiscard]] host::Device& device() { return device_; }
  [[nodiscard]] const nic::Counters& counters() const { return device_.card().counters; }
  [[nodiscard]] World& world() { return world_; }

  [[nodiscard]] Memory allocate(host::Domain domain, std::size_t bytes, nic::Rights rights);

  // Posting, as programs do; the doorbell is heard at this same time.
  [[nodiscard]] host::Error post(host::QueuePair& qp, const host::WorkRequest& request);
  [[nodiscard]] host::Error post(host::QueuePair& qp, const host::ReceiveRequest& request);
  [[nodiscard]] host::Error modify(host::QueuePair& qp, const host::QpAttributes& attributes, std::uint32_t mask);
  // How long the control queue between card and software takes, each way; and which loss events are lost on it.
  void set_control_delay(Time delay) { effects_.control_delay = delay; }
  void lose_control_events(std::uint64_t from, std::uint64_t count) {
    effects_.lost_from = from;
    effects_.lost_count = count;
  }
  // Packets of a message travel as one, up to so many bytes, as between programs that share memory.
  void join_packets(std::uint32_t bytes) {
    assert(bytes <= PayloadPool::kMaxBytes);
    effects_.burst_bytes = bytes;
  }
  // Likewise, but the payload stays behind until the receiver places it.
  void export_payloads(std::uint32_t bytes) { effects_.one_copy_bytes = bytes; }
  // Queue pairs have their turn before what is owed is sent, which then may travel with a message.
  void give_turns_first(bool on) { turns_first_ = on; }
  // Packets are looked at so long after the first of them has come, all at once. Those that came to be refused are not
  // among them.
  void look_after(Time delay) { look_after_ = delay; }
  // From `at` on the host does nothing for so long, as a program that computes, or has lost its processor: what comes
  // meanwhile waits, and so do its own deadlines. It may do so every so often.
  void stop(Time at, Time how_long, Time every = kNever) {
    stops_at_ = at;
    stops_for_ = how_long;
    stops_every_ = every;
  }
  void ring_doorbells();  // after calls to the device itself
  // Its peer is gone, as the host has found out.
  void lose_peer(host::QueuePair& qp);

  // -- to be awaited --
  Task<nic::Completion> completion(host::CompletionQueue& cq);
  Task<nic::HostEvent> async_event();
  Task<host::CompletionQueue*> completion_event(std::uint32_t channel);
  [[nodiscard]] Signal& news() { return news_; }

  // -- the fabric's part --
  void on_parcel(Time now, const Parcel& parcel);
  void on_refused(Time now, Refusal why);
  void on_wake(Time now);

 private:
  static host::DeviceConfig with_address(host::DeviceConfig config, const wire::Address& address);
  // When it goes on, if it does nothing now.
  [[nodiscard]] std::optional<Time> stopped_until(Time now) const {
    const Time since = now < stops_at_ ? stops_for_ : (now - stops_at_) % stops_every_;
    return since < stops_for_ ? std::optional(now - since + stops_for_) : std::nullopt;
  }
  void hold(const Parcel& parcel, Time until);
  void drive(Time now);
  void serve_control(Time now);

  World& world_;
  wire::Address address_;
  SeededNumbers numbers_;
  host::Device device_;
  HostIndex index_;
  CardWorld effects_;
  nic::Card<CardWorld> card_;
  struct TimedAnswer {
    Time due;
    nic::ControlMessage message;
  };
  std::deque<TimedAnswer> answers_;  // from the software to the card
  bool turns_first_ = false;
  Time look_after_ = 0, look_at_ = 0;
  Time stops_at_ = 0, stops_for_ = 0, stops_every_ = kNever;
  HeldParcels held_;
  Signal news_;
  std::deque<std::vector<std::uint64_t>> memory_;  // in words: atomics want alignment
  std::uint64_t next_address_;
};

}  // namespace weft::sim
