// The simulated world as a card on a chip sees it: everything it asks for has its price (shell.h). Payloads of host
// memory are lengths: that bytes arrive as they were sent is shown elsewhere, by the same card. Payloads that the card
// has written itself (StaR's control packets) are bytes, because the other card acts on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/card.h"
#include "world/sim/chip/shell.h"

namespace weft::sim {

class ChipHost;

class ChipWorld {
 public:
  static constexpr nic::Capabilities kCapabilities{.timed_turns = true};

  ChipWorld(ChipHost& host, Shell& shell) : host_(host), shell_(shell) {}

  void emit(const nic::OutPacket& packet);
  void complete(std::uint32_t cq, const nic::Completion& done);
  void notify(const nic::HostEvent& event);
  void tell(const nic::LossEvent& e);
  void turn_given(std::uint32_t slot);
  void turn_wanted(std::uint32_t slot);
  void read(nic::BusRead what, const void* from, std::size_t bytes) { shell_.read(what, from, bytes); }
  void write(nic::BusWrite what, const void*, std::size_t bytes) { shell_.write(what, bytes); }
  void dma_write(std::byte*, std::span<const std::byte> data) { shell_.dma_write(data.size()); }
  // All but contexts are on chip in every card that is modelled; docs/model.md says why.
  void touch(nic::OnChip what, std::uint64_t key) {
    if (what == nic::OnChip::capability) return shell_.check_capability();
    if (what == nic::OnChip::rule) return shell_.check_rule();
    if (what != nic::OnChip::context) return;
    slot_ = static_cast<std::uint32_t>(key);
    shell_.touch_context(slot_);
  }
  bool reach(std::byte*, std::size_t, bool) { return true; }

 private:
  ChipHost& host_;
  Shell& shell_;
  std::uint32_t slot_ = 0;  // of the context that was touched last
};

}  // namespace weft::sim

namespace weft::nic {
extern template class Card<sim::ChipWorld>;
}
