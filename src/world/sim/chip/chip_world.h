// The simulated world as a card on a chip sees it: everything it asks for has its price (shell.h). Payloads of host
// memory are lengths: that bytes arrive as they were sent is shown elsewhere, by the same card. Payloads that a card
// acts on are bytes: what it has written itself (StaR's control packets), and what kernels are called with, are fed,
// and answer in one packet. What kernels write is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "nic/card.h"
#include "world/sim/chip/shell.h"

namespace weft::sim {

class ChipHost;

class ChipWorld {
 public:
  static constexpr nic::Capabilities kCapabilities{.timed_turns = true, .timed_kernels = true};

  ChipWorld(ChipHost& host, Shell& shell) : host_(host), shell_(shell) {}

  void emit(const nic::OutPacket& packet);
  void complete(std::uint32_t cq, const nic::Completion& done);
  void notify(const nic::HostEvent& event);
  void tell(const nic::LossEvent& e);
  void turn_given(std::uint32_t slot);
  void turn_wanted(std::uint32_t slot);
  void read(nic::BusRead what, const void* from, std::size_t bytes) {
    shell_.read(what, from, bytes);
    if (what == nic::BusRead::kernel) about_to_read(from, bytes);
  }
  void write(nic::BusWrite what, const void* at, std::size_t bytes) {
    shell_.write(what, at, bytes);
    if (what == nic::BusWrite::atomic) written(at, bytes);
  }
  void dma_write(std::byte* to, std::span<const std::byte> data) {
    shell_.dma_write(to, data.size());
    if (are_bytes_) std::memcpy(to, data.data(), data.size());
    written(to, data.size());
  }
  void kernel_begins(nic::KernelInstance& i) { shell_.kernel_begins(i.of->number, i.of->kernel.instances, i.ready_at); }
  void kernel_enters(nic::KernelInstance& i) {
    shell_.kernel_enters(i.ready_at, i.of_payload);
    are_bytes_ = true;
  }
  void kernel_step(nic::KernelInstance& i, std::size_t bytes) {
    shell_.kernel_step(i.of->number, bytes, i.event == nic::KernelEvent::data);
  }
  void kernel_leaves(nic::KernelInstance& i) { i.ready_at = shell_.kernel_leaves(i.of_payload); }
  void kernel_ends(nic::KernelInstance& i) { shell_.kernel_ends(i.of->number); }
  // All but contexts are on chip in every card that is modelled; docs/model.md says why.
  void touch(nic::OnChip what, std::uint64_t key) {
    if (what == nic::OnChip::capability) return shell_.check_capability();
    if (what == nic::OnChip::rule) return shell_.check_rule();
    if (what != nic::OnChip::context) return;
    slot_ = static_cast<std::uint32_t>(key);
    shell_.touch_context(slot_);
  }
  bool reach(std::byte*, std::size_t, bool) { return true; }

  // Of the packet that comes next: is its payload bytes?
  void begin_packet(bool are_bytes) { are_bytes_ = are_bytes; }

 private:
  void written(const void* at, std::size_t bytes);
  void about_to_read(const void* from, std::size_t bytes);

  ChipHost& host_;
  Shell& shell_;
  bool are_bytes_ = false;
  std::uint32_t slot_ = 0;  // of the context that was touched last
};

}  // namespace weft::sim

namespace weft::nic {
extern template class Card<sim::ChipWorld>;
}
