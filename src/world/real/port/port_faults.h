// What goes wrong on purpose at a real port. Each datagram is offered here before it goes on (to the kernel, or to the
// card); it is dropped, sent twice, held until the next one has passed, sent late, damaged or marked as a fault plan
// says. The same plan and seed as in the simulated world, and the same judge: only the bytes and the clock are real.
//
// Memory is bounded: what waits is copied into a store of fixed size, and when that is full, or a datagram is larger
// than any that a card sends, it goes on at once, in its order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "wire/ip.h"
#include "wire/packet.h"
#include "world/faults.h"
#include "world/real/os/time.h"

namespace weft::real {

class PortFaults {
 public:
  static constexpr std::size_t kSlots = 1024;      // datagrams that wait
  static constexpr std::size_t kSlotBytes = 4352;  // the largest payload (4096), its headers, and some more

  // One seed drives many ports: `stream` tells them apart. The plan's black holes are counted from `began`.
  PortFaults(const world::FaultPlan& plan, std::uint64_t seed, std::uint64_t stream, Time began);

  PortFaults(const PortFaults&) = delete;  // its injector counts here
  PortFaults& operator=(const PortFaults&) = delete;

  [[nodiscard]] bool active() const { return active_; }  // if not, there is no need to ask

  // `bytes` is a UDP payload with its ICRC. Calls send(const wire::Flow&, std::span<const std::byte>, std::string_view
  // note) for everything that now goes on, which may be nothing, this datagram, others that waited, or this one twice;
  // a note says what was done to it, for a capture's comment. The answer is why this datagram was dropped, or empty.
  template <class Send>
  std::string_view offer(Time now, const wire::Flow& flow, std::span<const std::byte> bytes, Send&& send) {
    return carry_out(judge(now, flow), now, flow, bytes, send);
  }

  // The same in two steps, for whoever has no bytes yet: what becomes of the next datagram, and its doing so. One that
  // is left alone need not come here at all.
  [[nodiscard]] world::Fate judge(Time now, const wire::Flow& flow) {
    world::Fate verdict = injector_.judge(now - began_);
    // As a switch does: it marks what says that it understands marks, and lets the rest pass.
    verdict.mark = verdict.mark && (flow.traffic_class & wire::kCongestionExperienced) != 0;
    return verdict;
  }
  [[nodiscard]] bool leaves_alone(const world::Fate& v) const {
    return !v.drop && !v.duplicate && !v.corrupt && !v.mark && !v.hold && v.late <= 0 && held_.empty();
  }
  template <class Send>
  std::string_view carry_out(const world::Fate& verdict, Time now, const wire::Flow& flow,
                             std::span<const std::byte> bytes, Send&& send) {
    if (!verdict.drop) go_on(now, verdict, flow, bytes, send);
    if (verdict.duplicate) pass(flow, bytes, "duplicate (impairment)", send);
    return verdict.drop ? why_dropped(verdict.reason) : std::string_view{};
  }

  // When on_time wants to be called; kNever if nothing waits.
  [[nodiscard]] Time next_deadline() const;
  // Sends what has waited long enough.
  template <class Send>
  void on_time(Time now, Send&& send) {
    for (Slot slot; take_due(now, slot);) release(slot, send);
  }
  // Sends all that waits, in the order in which it would have gone: before the port closes.
  template <class Send>
  void flush(Send&& send) {
    on_time(kNever, send);
  }

  [[nodiscard]] const world::FaultCounters& counters() const { return injector_.counters(); }
  [[nodiscard]] std::size_t waiting() const { return held_.size() + late_.size(); }
  [[nodiscard]] std::uint64_t not_stored() const { return not_stored_; }  // that should have waited and did not

 private:
  using Slot = std::uint32_t;
  struct Waiting {
    Time due;
    std::uint64_t number;  // of two that are due together, the first goes first
    Slot slot;
  };
  struct Stored {
    wire::Flow flow;
    std::uint32_t bytes = 0;
    std::string_view note;
  };

  template <class Send>
  void go_on(Time now, const world::Fate& verdict, wire::Flow flow, std::span<const std::byte> bytes, Send& send) {
    if (verdict.corrupt) bytes = damaged(bytes);
    if (verdict.mark) mark(flow);
    const std::string_view note = note_of(verdict);
    if (verdict.hold && store(now + injector_.plan().hold, flow, bytes, note, held_)) return;
    if (!verdict.hold && verdict.late > 0 && store(now + verdict.late, flow, bytes, note, late_)) {
      sift_late();
      return;
    }
    pass(flow, bytes, note, send);
  }

  // A datagram goes on in time, and whoever waited for that follows it.
  template <class Send>
  void pass(const wire::Flow& flow, std::span<const std::byte> bytes, std::string_view note, Send& send) {
    send(flow, bytes, note);
    for (const Waiting& one : held_) release(one.slot, send);
    held_.clear();
  }

  template <class Send>
  void release(Slot slot, Send& send) {
    const Stored& stored = stored_[slot];
    send(stored.flow, std::span<const std::byte>(slot_bytes(slot), stored.bytes), stored.note);
    free_.push_back(slot);
  }

  [[nodiscard]] std::byte* slot_bytes(Slot slot) const { return memory_.get() + std::size_t{slot} * kSlotBytes; }
  [[nodiscard]] std::span<const std::byte> damaged(std::span<const std::byte> bytes);
  [[nodiscard]] bool store(Time due, const wire::Flow& flow, std::span<const std::byte> bytes, std::string_view note,
                           std::vector<Waiting>& where);
  [[nodiscard]] bool take_due(Time now, Slot& slot);
  void sift_late();
  static void mark(wire::Flow& flow);
  static std::string_view note_of(const world::Fate& verdict);
  static std::string_view why_dropped(world::DropReason reason);

  std::uint64_t own_count_ = 0;  // a plan that counts the world's packets counts this port's
  world::FaultInjector injector_;
  Time began_;
  bool active_;
  std::unique_ptr<std::byte[]> memory_;  // the slots and, behind them, room for one datagram that is damaged
  std::vector<Stored> stored_;
  std::vector<Slot> free_;
  std::vector<Waiting> held_;  // until the next one has passed, in the order in which they came
  std::vector<Waiting> late_;  // a heap
  std::uint64_t numbered_ = 0, not_stored_ = 0;
};

}  // namespace weft::real
