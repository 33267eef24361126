// The tap that sees packets, and the faults that befall them on purpose: two stages around a port. They stand between
// the port and whoever uses it, so the port itself knows nothing of them. Most lanes have neither: their owner asks
// is_on() once for each packet and goes straight to the port.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "nic/world.h"
#include "wire/refusal.h"
#include "world/real/os/trouble.h"
#include "world/real/port/port.h"
#include "world/real/port/port_faults.h"
#include "world/real/port/tap.h"
#include "world/real/settings/settings.h"

namespace weft::real {

class Inspection {
  // How a datagram goes on when the faults let it. Defined first because their return types are deduced.
  [[nodiscard]] auto departure() {
    return [this](const wire::Flow& flow, std::span<const std::byte> datagram, std::string_view what) {
      note(Direction::outbound, flow, datagram, what);
      port_.send(flow, datagram);
    };
  }
  template <class Take, class Settle>
  [[nodiscard]] auto arrival(Take& take, Settle& settle) {
    return [&, this](const wire::Flow& flow, std::span<const std::byte> datagram, std::string_view what) {
      note(Direction::inbound, flow, datagram, what);
      take(flow, datagram, DatagramTraits{});
      settle();
    };
  }

 public:
  explicit Inspection(Port& port) : port_(port) {}

  // What the settings ask for. The lane number tells the random streams of one host's lanes apart.
  [[nodiscard]] std::optional<Trouble> open(const Settings& settings, std::uint8_t lane_number, Time now);
  void close();

  // Packets are looked at, or tampered with: none may pass the port but through here, and each by itself.
  [[nodiscard]] bool is_on() const { return on_; }
  // Packets that leave may be marked as a congested switch would.
  [[nodiscard]] bool may_mark() const { return outbound_ != nullptr; }

  // -- out
  void emit(const nic::OutPacket& packet);
  void send(const wire::Flow& flow, std::span<const std::byte> datagram);

  // -- in
  // Calls take(flow, datagram, how) for what goes on now: this datagram, others that waited, this one twice, or none.
  // What waited is settled at once, because its bytes do not stay.
  template <class Take, class Settle>
  void arrive(const wire::Flow& flow, std::span<const std::byte> datagram, DatagramTraits how, Take& take,
              Settle& settle) {
    if (how.one_copy) return take(flow, datagram, how);  // has no bytes to look at
    if (!inbound_) {
      note(Direction::inbound, flow, datagram);
      return take(flow, datagram, how);
    }
    const std::string_view why = inbound_->offer(port_.now(), flow, datagram, arrival(take, settle));
    if (!why.empty()) note(Direction::inbound, flow, datagram, why);
  }
  void note_refused(const wire::Flow& flow, std::span<const std::byte> datagram, Refusal why);

  // -- time: what the faults hold back, and the tap's file
  [[nodiscard]] Time next_deadline() const { return on_ ? next_of_stages() : kNever; }
  template <class Take, class Settle>
  void on_time(Take& take, Settle& settle) {
    if (inbound_) inbound_->on_time(port_.now(), arrival(take, settle));
    if (outbound_) outbound_->on_time(port_.now(), departure());
    if (tap_) tap_->on_time(port_.now());
  }

  [[nodiscard]] std::uint64_t lost_on_purpose() const {
    return (outbound_ ? outbound_->counters().dropped() : 0) + (inbound_ ? inbound_->counters().dropped() : 0);
  }

 private:
  static constexpr std::size_t kDatagram = 4096 + wire::kMaxHeaderBytes + 3 + wire::kIcrcBytes;

  void note(Direction direction, const wire::Flow& flow, std::span<const std::byte> datagram,
            std::string_view what = {}) {
    if (tap_) tap_->packet(port_.now(), direction, flow, datagram, what);
  }
  [[nodiscard]] world::Fate fate_of(const wire::Flow& flow) {
    return outbound_ ? outbound_->judge(port_.now(), flow) : world::Fate{};
  }
  void offer(const wire::Flow& flow, std::span<const std::byte> datagram, const world::Fate& fate);
  [[nodiscard]] Time next_of_stages() const;

  Port& port_;
  bool on_ = false;
  std::optional<Tap> tap_;
  std::unique_ptr<PortFaults> outbound_, inbound_;
};

}  // namespace weft::real
