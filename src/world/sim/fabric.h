// The simulated world's engine: a network and the hosts on it, run event by event. Hosts are of one type, known when
// this is compiled: no virtual call a packet.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "world/sim/network.h"
#include "world/sim/scheduler.h"

namespace weft::sim {

// What a host must be. A parcel is the host's to read during the call only. A host that uses Fabric::post states it by
// kPostsToItself, and has on_event().
template <class H>
concept SimHost = requires(H host, Time now, const Parcel& parcel, Refusal refusal) {
  { H::kPostsToItself } -> std::convertible_to<bool>;
  host.on_parcel(now, parcel);
  host.on_refused(now, refusal);  // the port threw a corrupted packet away
  host.on_wake(now);
};

enum class Stop : std::uint8_t {
  idle,         // nothing will ever happen again
  time_limit,   // the next event lies beyond the limit
  event_limit,  // so many events have happened
};

template <class Host>
class Fabric : public Network {
 public:
  explicit Fabric(std::uint64_t seed) : Network(seed), tasks_(queue_) {}

  // The host must live as long as the fabric runs.
  HostIndex attach(Host& host, const wire::Address& address) {
    hosts_.push_back({&host, kNever, 0});
    return add_host(address);
  }
  [[nodiscard]] Host& host(HostIndex index) { return *hosts_[index].host; }
  [[nodiscard]] Scheduler& tasks() { return tasks_; }

  // A host has one alarm clock. This sets it to `at`, unless it rings earlier already; when it has rung (on_wake) it
  // is off, and the host asks again for whatever else it wants. A later deadline than the first thus costs no event.
  void wake(HostIndex index, Time at) {
    Slot& slot = hosts_[index];
    if (at >= slot.alarm) return;
    slot.alarm = at;
    push(at, FabricEventKind::wake, index, ++slot.generation);
  }
  void cancel_wake(HostIndex index) {
    hosts_[index].alarm = kNever;
    ++hosts_[index].generation;
  }
  // on_event(at, argument), once for each call.
  void post(HostIndex index, Time at, std::uint32_t argument) {
    static_assert(Host::kPostsToItself);
    push(at, FabricEventKind::host_event, index, argument);
  }

  // Until nothing is left to happen, or a limit is reached; what a task threw is thrown here.
  Stop run_until_idle(Time limit = kNever, std::uint64_t events = UINT64_MAX) {
    static_assert(SimHost<Host>);
    for (Event event; events > 0; --events) {
      if (!queue_.pop(event, limit)) return queue_.empty() ? Stop::idle : Stop::time_limit;
      fetch_ahead();
      dispatch(event);
    }
    return queue_.empty() ? Stop::idle : Stop::event_limit;
  }

  // All that happens up to and including `at`; then it is `at`.
  Stop run_until(Time at, std::uint64_t events = UINT64_MAX) {
    const Stop stop = run_until_idle(at, events);
    if (stop != Stop::event_limit) queue_.advance_to(at);
    return stop;
  }

 private:
  struct Slot {
    Host* host;
    Time alarm;
    std::uint32_t generation;
  };

  void dispatch(const Event& event) {
    switch (static_cast<FabricEventKind>(event.kind())) {
      case FabricEventKind::next: advance_line(event.target()); [[fallthrough]];
      case FabricEventKind::arrive: return arrive(event.target(), static_cast<ParcelId>(event.argument));
      case FabricEventKind::let_go: return let_go(event.target(), event.argument);
      case FabricEventKind::queue: return look_after_queue(event.target());
      case FabricEventKind::pause: return pause(event.target());
      case FabricEventKind::go_on: return end_pause(event.target());
      case FabricEventKind::wake: return ring(hosts_[event.target()], event.argument);
      case FabricEventKind::host_event: return tell(*hosts_[event.target()].host, event.argument);
      case FabricEventKind::resume:
      case FabricEventKind::time_out:
        tasks_.on_event(static_cast<FabricEventKind>(event.kind()), event.target(), event.argument);
        return tasks_.rethrow_failure();
    }
  }

  void arrive(LinkIndex index, ParcelId id) {
    ++counters_.hops;
    const Link::End to = links_[index].to();
    if (!to.is_host) return forward(index, id);
    const Parcel& parcel = parcels_[id];
    Host& host = *hosts_[to.index].host;
    if (parcel.refusal == Refusal::none) [[likely]] {
      ++counters_.delivered;
      if (!trace_.skips_deliveries()) trace_.delivered(now(), parcel);
      host.on_parcel(now(), parcel);
    } else {
      ++counters_.refused;
      trace_.refused(now(), parcel);
      host.on_refused(now(), parcel.refusal);
    }
    parcels_.release(id);
  }

  // A host is woken so that what has left by now is on the wire, and when it may go on.
  void pause(LinkIndex index) {
    const Link::End from = links_[index].from();
    if (from.is_host) hosts_[from.index].host->on_wake(now());
    links_[index].queue()->pause(now());
  }
  void end_pause(LinkIndex index) {
    links_[index].queue()->go_on(now());
    serve(index);
    const Link::End from = links_[index].from();
    if (from.is_host) hosts_[from.index].host->on_wake(now());
  }

  void ring(Slot& slot, std::uint32_t generation) {
    if (slot.generation != generation) return;  // it was set to another time since
    slot.alarm = kNever;
    slot.host->on_wake(now());
  }

  void tell(Host& host, std::uint32_t argument) {
    if constexpr (Host::kPostsToItself) host.on_event(now(), argument);
  }

  // Many thousand packets in flight do not fit the nearest caches: a packet is fetched when its event is a few places
  // away, and its payload, which only the packet can tell, a little later. With 65 000 packets in flight this nearly
  // doubles the speed; with few it would only cost.
  void fetch_ahead() {
    constexpr std::size_t kPacket = 8, kPayload = 3, kCached = 2 << 20;
    if (parcels_.bytes() < kCached) return;
    if (queue_.begins_run()) {
      for (std::size_t ahead = 0; ahead < kPacket; ++ahead) fetch(queue_.glimpse(ahead));
    }
    fetch(queue_.glimpse(kPacket));
    const Event* near = queue_.glimpse(kPayload);
    if (near != nullptr && static_cast<FabricEventKind>(near->kind()) == FabricEventKind::arrive &&
        links_[near->target()].to().is_host) {
      parcels_.prefetch_payload(static_cast<ParcelId>(near->argument));
    }
  }
  void fetch(const Event* event) const {
    if (event == nullptr || static_cast<FabricEventKind>(event->kind()) != FabricEventKind::arrive) return;
    parcels_.prefetch(static_cast<ParcelId>(event->argument));
  }

  std::vector<Slot> hosts_;
  Scheduler tasks_;
};

}  // namespace weft::sim
