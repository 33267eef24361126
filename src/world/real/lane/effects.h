// The real world as the card sees it: every effect happens at once.
#pragma once

#include <cstring>

#include "host/device.h"
#include "nic/reveal.h"
#include "world/real/lane/journal.h"
#include "world/real/lane/lane_owner.h"
#include "world/real/os/lane_clock.h"
#include "world/real/os/pages.h"
#include "world/real/os/preemption.h"
#include "world/real/port/inspection.h"
#include "world/real/port/port.h"

namespace weft::real {

class Effects {
 public:
  static constexpr nic::Capabilities kCapabilities{.bursts = true, .clock = true, .journal = true};

  Effects(host::Device& device, Port& port, Inspection& inspection, LaneOwner& owner, Journal& journal,
          LaneClock& clock)
      : device_(device), port_(port), inspection_(inspection), owner_(owner), journal_(journal), clock_(clock) {}

  void emit(const nic::OutPacket& packet) {
    may_be_preempted();
    if (inspection_.is_on()) [[unlikely]]
      return inspection_.emit(packet);
    port_.emit(packet);
  }
  nic::BurstLimits burst_limits(const wire::Flow& flow, wire::Qpn destination) {
    return inspection_.is_on() ? nic::BurstLimits{} : port_.burst_limits(flow, destination);
  }
  void revoke_all() { port_.revoke_all(); }
  void revoke(const std::byte* from, std::uint64_t bytes) { port_.revoke(from, bytes); }
  std::size_t fetch(std::span<const nic::OneCopyPiece> pieces) { return RingInput::fetch(pieces); }
  void complete(std::uint32_t cq, const nic::Completion&) {
    ++completions_;
    const bool armed = device_.card().cqs[cq].armed != nic::Notify::none;
    nic::reveal(device_.card(), *this, armed ? look_at_clock() : now_, cq);
  }
  void notify(const nic::HostEvent& event) {
    device_.on_event(event);
    if (event.kind != nic::EventKind::completion) return owner_.on_async_event();
    if (const std::uint32_t channel = device_.channel_of(event.number); channel != nic::kNone) {
      owner_.on_completion_event(channel);
    }
  }
  void tell(const nic::LossEvent& e) { device_.tell(e); }
  void dma_write(std::byte* to, std::span<const std::byte> data) {
    std::memcpy(to, data.data(), data.size());
    may_be_preempted();
  }
  void read(nic::BusRead, const void*, std::size_t) {}
  void write(nic::BusWrite, const void*, std::size_t) {}
  void touch(nic::OnChip, std::uint64_t) {}
  void refused(Refusal why, const wire::Packet* packet) { journal_.refused(look_at_clock(), why, packet); }
  bool reach(std::byte* at, std::size_t bytes, bool writes) { return pages_are_there(at, bytes, writes); }

  void set_now(Time now) { now_ = now; }
  [[nodiscard]] Time now() const { return now_; }  // or kAsk
  [[nodiscard]] Time look_at_clock() {
    if (now_ == nic::kAsk) now_ = clock_.now();
    return now_;
  }
  // How many so far: whoever polls wants to know whether something came for the program.
  [[nodiscard]] std::uint64_t completions() const { return completions_; }

 private:
  host::Device& device_;
  Port& port_;
  Inspection& inspection_;
  LaneOwner& owner_;
  Journal& journal_;
  LaneClock& clock_;
  Time now_ = nic::kAsk;
  std::uint64_t completions_ = 0;
};

}  // namespace weft::real
