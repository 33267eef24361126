// The timing shell: what being hardware costs. The card does everything at once and never waits; the shell keeps a
// cursor that runs ahead of the world's time as far as a chip would have taken until then, and moves it by what the
// card asks for. Whoever else sees something of it (a packet, a completion, a message to the host) sees it at the time
// that is answered here.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "nic/caches/cache_tags.h"
#include "nic/world.h"
#include "world/sim/chip/at_hand.h"
#include "world/sim/chip/bus.h"
#include "world/sim/chip/concurrency_limit.h"
#include "world/sim/chip/kernel_unit.h"
#include "world/sim/chip/made.h"
#include "world/sim/chip/reservations.h"
#include "world/sim/chip/spec.h"

namespace weft::sim {

class Shell {
 public:
  Shell(const ChipSpec& spec, std::uint32_t contexts, std::uint64_t seed)
      : spec_(spec),
        cycle_(spec.clock_mhz == 0 ? 0 : static_cast<Time>(1e6 / spec.clock_mhz)),
        bus_(spec.pcie, seed),
        contexts_(spec.contexts.entries, spec.contexts.shape, contexts, seed),
        misses_(spec.misses_under_way),
        stateless_(spec.stateless_reads) {}

  [[nodiscard]] const ChipSpec& spec() const { return spec_; }
  [[nodiscard]] Time cycles(std::uint32_t n) const { return cycle_ * n; }
  [[nodiscard]] Bus& bus() { return bus_; }
  [[nodiscard]] const Bus& bus() const { return bus_; }
  [[nodiscard]] const nic::CacheTags& contexts() const { return contexts_; }
  [[nodiscard]] Time pipeline_busy() const { return transmit_.total(); }
  [[nodiscard]] std::uint64_t work_misses() const { return work_misses_; }

  // -- what the card is about to do, and from when on --
  void begin(Time now, Time from) {
    now_ = now;
    known_ = cursor_ = payload_ = placed_ = reread_ = from;
    keeps_nothing_ = false;
    carried_ = 0;
    before_kernels_ = kNever;
    at_hand_.clear();
  }
  // It is for a stateless connection: whatever the card keeps of others, it has nothing of this one.
  void keep_nothing() { keeps_nothing_ = true; }
  // A packet has come: it takes the receiving stage, whole, because its ICRC is at its end.
  void begin_packet(Time now, std::uint32_t bytes) {
    received_ = std::max(received_, now) + stage_time(bytes);  // they come in the order of time
    begin(now, received_ + cycles(spec_.receive_cycles));
  }
  // The first entry of this turn's queue came with its doorbell: that many bytes need not be fetched. A stateless post
  // brings all of its entries.
  void carried(std::size_t bytes) { carried_ = bytes; }
  // The host has written there: what the card had made of it is gone.
  void overwritten(const void* at, std::size_t bytes) { (void)made_.take(at, bytes); }

  // -- what it asks for on the way --
  void touch_context(std::uint32_t slot) {
    if (!contexts_.enabled()) return;
    const nic::CacheTags::Found found = contexts_.touch(slot);
    if (found == nic::CacheTags::Found::hit) return;
    fetch(spec_.contexts.entry_bytes, BusUse::context);
    known_ = cursor_;
    if (found == nic::CacheTags::Found::miss_and_eviction) {
      bus_.write(now_, cursor_, spec_.contexts.entry_bytes, BusUse::context);
    }
  }
  void read(nic::BusRead what, const void* from, std::size_t bytes) {
    using enum nic::BusRead;
    switch (what) {
      case payload: return read_payload(from, bytes);
      case answer:
        if (const std::size_t rest = bytes - made_.take(from, bytes); rest != 0) read_payload(from, rest);
        return;
      case work:
        if (spec_.posts_on_chip) return;
        return at_hand_.take(from, bytes) ? read_work(bytes - made_.has(from, bytes)) : void();
      case receive: return at_hand_.take(from, bytes) ? fetch_entry(bytes, BusUse::receive) : void();
      case receive_order: return fetch(bytes, BusUse::receive);
      case ahead: bus_.read(now_, cursor_, bytes, BusUse::work); return;
      case translation: return fetch(bytes, BusUse::translation);
      case kernel: return fetch_for_kernel(from, bytes);
      case atomic: return fetch(bytes, BusUse::payload);
      case block: return fetch(bytes, BusUse::context);
      case work_under_way:
      case receive_under_way:
      case saved_response:
      case reorder_note:
      case retry:
      case remote_work: return read_under_way(what, from, bytes);
    }
  }
  void write(nic::BusWrite what, const void* at, std::size_t bytes) {
    if (what == nic::BusWrite::atomic) return dma_write(at, bytes);
    if (what == nic::BusWrite::block) {
      bus_.write(now_, cursor_, bytes, BusUse::context);
      return;
    }
    const bool of_loss = what == nic::BusWrite::reorder_note || what == nic::BusWrite::retry;
    const bool makes = what == nic::BusWrite::kernel || what == nic::BusWrite::answer;
    if (makes && is_kept()) made_.add(at, bytes);
    if (what == nic::BusWrite::answer) {  // a copy, in case it has to be sent again
      bus_.write(now_, cursor_, bytes, BusUse::payload);
      return;
    }
    if (is_kept()) return;
    bus_.write(now_, cursor_, bytes, of_loss ? BusUse::control : BusUse::under_way);
  }
  void check_capability() { cursor_ += cycles(spec_.capability_cycles); }
  void check_rule() { cursor_ += cycles(spec_.rule_cycles); }
  // When a packet of this size is ready to leave.
  Time send(std::uint32_t bytes) {
    const Time from = std::max(cursor_, payload_);
    payload_ = cursor_;
    return transmit_.take(now_, from, stage_time(bytes)) + cycles(spec_.transmit_cycles);
  }
  void dma_write(const void* at, std::size_t bytes) {
    const Time from = std::max(cursor_, reread_);
    in_pages(at, bytes, [&](std::size_t piece) {
      const Time begun = command(write_commands_, from);
      placed_ = std::max(placed_, bus_.write(now_, begun, piece, BusUse::payload));
    });
    if (in_kernel_ && spec_.kernels.write_buffer_bytes != 0) {
      const Time gone = placed_ - spec_.pcie.write_latency;
      occupied_ = std::max(occupied_, gone - bus_.write_time(spec_.kernels.write_buffer_bytes));
    }
  }
  // When the host sees it: not before what was placed.
  Time complete() {
    const Time from = std::max({cursor_, reread_, placed_ - spec_.pcie.write_latency});
    return std::max(placed_, bus_.write(now_, from, spec_.completion_bytes, BusUse::completion));
  }
  Time tell() { return bus_.write(now_, cursor_, spec_.control_bytes, BusUse::control); }

  // -- kernels: an instance's `ready_at` is its own time --
  // `kernel`: its number, of all that were ever deployed.
  void kernel_begins(std::uint32_t kernel, std::uint32_t instances, Time& ready_at) {
    if (units_.size() <= kernel) units_.resize(kernel + 1);
    if (units_[kernel] == nullptr) units_[kernel] = std::make_unique<KernelUnit>(instances);
    ready_at = units_[kernel]->begin();
  }
  void kernel_ends(std::uint32_t kernel) { units_[kernel]->end(std::max(cursor_, occupied_)); }
  // What it does because of a call it does in its own time, while the packet has been dealt with. Payload waits for it.
  void kernel_enters(Time ready_at, bool of_payload) {
    if (!of_payload && before_kernels_ == kNever) before_kernels_ = cursor_;
    cursor_ = occupied_ = std::max(cursor_, ready_at);
    in_kernel_ = true;
  }
  // `bytes`: that it is given. What it has read it takes in as it comes; packets have been stored, for their ICRC.
  void kernel_step(std::uint32_t kernel, std::size_t bytes, bool is_read) {
    const std::uint32_t width = spec_.kernels.datapath_bytes;
    const std::uint32_t beats = width == 0 ? 1 : (static_cast<std::uint32_t>(bytes) + width - 1) / width;
    const Time from = std::max(is_read ? std::min(data_from_, cursor_) : cursor_, occupied_);
    const Time taken = units_[kernel]->pipeline.take(now_, from, cycles(std::max(beats, 1U)));
    cursor_ = occupied_ = is_read ? std::max(taken, cursor_ + cycles(1)) : taken;
    cursor_ += cycles(spec_.kernels.step_cycles);
  }
  // When it can go on: a stream as soon as its payload has been taken in, because a kernel is a pipeline.
  Time kernel_leaves(bool of_payload) {
    in_kernel_ = false;
    if (of_payload) cursor_ = std::max(cursor_, occupied_);
    return of_payload ? occupied_ : std::max(cursor_, occupied_);
  }
  // Back to the packet that made kernels begin.
  void leave_kernels() {
    if (before_kernels_ != kNever) cursor_ = std::exchange(before_kernels_, kNever);
  }
  // Accesses that went across the end of a page.
  [[nodiscard]] std::uint64_t splits() const { return splits_; }

  [[nodiscard]] Time placed() const { return placed_; }
  [[nodiscard]] Time cursor() const { return cursor_; }
  [[nodiscard]] Time finished() const { return std::max({cursor_, placed_, reread_}); }

 private:
  // A stage moves so many bytes in a cycle, and takes some cycles for the shortest packet.
  [[nodiscard]] Time stage_time(std::uint32_t bytes) const {
    const std::uint32_t beats =
        spec_.datapath_bytes == 0 ? 0 : (bytes + spec_.datapath_bytes - 1) / spec_.datapath_bytes;
    return cycles(std::max(beats, spec_.packet_cycles));
  }
  // Each part of an access that lies in one page.
  void in_pages(const void* at, std::size_t bytes, auto&& each) {
    if (spec_.tlb.entries == 0) return each(bytes);
    const std::uint64_t page = spec_.tlb.page_bytes;
    for (std::uint64_t address = std::bit_cast<std::uintptr_t>(at);;) {
      const std::size_t here = std::min<std::uint64_t>(bytes, page - address % page);
      each(here);
      bytes -= here;
      if (bytes == 0) return;
      address += here;
      ++splits_;
    }
  }
  Time command(Reservations& engine, Time from) {
    return spec_.pcie.command_time == 0 ? from : engine.take(now_, from, spec_.pcie.command_time);
  }
  void read_payload(const void* from, std::size_t bytes) {
    in_pages(from, bytes, [&](std::size_t piece) {
      payload_ = std::max(payload_, bus_.read(now_, command(read_commands_, cursor_), piece, BusUse::payload));
    });
  }
  void fetch_for_kernel(const void* from, std::size_t bytes) {
    const Time begun = cursor_;
    Time end = begun;
    data_from_ = begun + spec_.pcie.read_latency;
    in_pages(from, bytes, [&](std::size_t piece) {
      cursor_ = command(read_commands_, begun);
      fetch(piece, BusUse::payload);
      end = std::max(end, cursor_);
    });
    cursor_ = end;
  }
  // What is not on chip, and must be before the card goes on.
  void fetch(std::size_t bytes, BusUse use) { fetch(keeps_nothing_ ? stateless_ : misses_, bytes, use); }
  void fetch(ConcurrencyLimit& slots, std::size_t bytes, BusUse use) {
    cursor_ = slots.enter(cursor_, [&](Time start) { return bus_.read(now_, start, bytes, use); });
  }
  void read_work(std::size_t bytes) {
    const std::size_t here = std::min(bytes, carried_);
    carried_ -= here;
    if (bytes == here) return;
    ++work_misses_;
    fetch_entry(bytes - here, BusUse::work);
  }
  // Where entries lie follows from the context: several are asked for at once.
  void fetch_entry(std::size_t bytes, BusUse use) {
    const Time behind = std::exchange(cursor_, known_);
    fetch(keeps_nothing_ ? stateless_ : spec_.entries_queue ? entries_ : misses_, bytes, use);
    cursor_ = std::max(cursor_, behind);
  }

  // Is what is under way on chip?
  [[nodiscard]] bool is_kept() const { return spec_.under_way == UnderWay::on_chip && !keeps_nothing_; }

  // Only what is placed or completed waits for entries of the work that a packet is about: a window opens without.
  // What is answered or sent again cannot begin before it is known.
  void read_under_way(nic::BusRead what, const void* from, std::size_t bytes) {
    if (is_kept() || !at_hand_.take(from, bytes)) return;
    const std::size_t here = keeps_nothing_ ? std::min(bytes, carried_) : 0;
    carried_ -= here;
    bytes -= here;
    if (bytes == 0) return;
    const bool of_loss = what == nic::BusRead::reorder_note || what == nic::BusRead::retry;
    const Time behind = cursor_;
    fetch_entry(bytes, of_loss ? BusUse::control : BusUse::under_way);
    using enum nic::BusRead;
    if (keeps_nothing_ || what == saved_response || what == retry || what == remote_work) return;
    reread_ = std::max(reread_, std::exchange(cursor_, behind));
  }

  ChipSpec spec_;
  Time cycle_;
  Bus bus_;
  nic::CacheTags contexts_;
  ConcurrencyLimit misses_, stateless_, entries_{0};
  bool keeps_nothing_ = false;
  Reservations transmit_;
  Time received_ = 0;  // when the receiving stage is free
  Time now_ = 0;
  Time known_ = 0;           // when the context is there
  Time cursor_ = 0;          // as far as the chip has come with what it does
  Time payload_ = 0;         // when the payload that was asked for is there
  Time reread_ = 0;          // when entries of work under way are there
  Time placed_ = 0;          // when the host has what was written to it
  AtHand at_hand_;           // what has been read since it began
  std::size_t carried_ = 0;  // bytes of work that came with a doorbell
  std::uint64_t work_misses_ = 0, splits_ = 0;
  Made made_;
  Reservations read_commands_, write_commands_;

  std::vector<std::unique_ptr<KernelUnit>> units_;  // by the kernel's number
  bool in_kernel_ = false;
  Time data_from_ = 0;            // when what it has read begins to come
  Time occupied_ = 0;             // until when the kernel that runs can take nothing more
  Time before_kernels_ = kNever;  // where the cursor was
};

}  // namespace weft::sim
