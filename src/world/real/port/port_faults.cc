#include "world/real/port/port_faults.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "world/damage.h"

namespace weft::real {
namespace {

constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.due != b.due ? a.due > b.due : a.number > b.number;
};

// The same plan, with its times in this world's ticks.
world::FaultPlan in_ticks(world::FaultPlan plan) {
  plan.jitter_max = of_picoseconds(plan.jitter_max);
  plan.hold = of_picoseconds(plan.hold);
  for (world::BlackHole& hole : plan.holes) hole = {of_picoseconds(hole.from), of_picoseconds(hole.to)};
  return plan;
}

}  // namespace

PortFaults::PortFaults(const world::FaultPlan& plan, std::uint64_t seed, std::uint64_t stream, Time began)
    : injector_(in_ticks(plan), world::Random(seed).fork(stream), own_count_), began_(began), active_(!plan.empty()) {
  if (!active_) return;
  memory_ = std::make_unique_for_overwrite<std::byte[]>((kSlots + 1) * kSlotBytes);  // untouched pages cost nothing
  stored_.resize(kSlots);
  free_.resize(kSlots);
  std::iota(free_.rbegin(), free_.rend(), Slot{0});
  held_.reserve(kSlots);
  late_.reserve(kSlots);
}

std::span<const std::byte> PortFaults::damaged(std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() > kSlotBytes) return bytes;
  const std::span<std::byte> copy(slot_bytes(kSlots), bytes.size());
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  world::damage(copy, injector_.random());
  return copy;
}

bool PortFaults::store(Time due, const wire::Flow& flow, std::span<const std::byte> bytes, std::string_view note,
                       std::vector<Waiting>& where) {
  if (free_.empty() || bytes.size() > kSlotBytes) {
    ++not_stored_;
    return false;
  }
  const Slot slot = free_.back();
  free_.pop_back();
  if (!bytes.empty()) std::memcpy(slot_bytes(slot), bytes.data(), bytes.size());
  stored_[slot] = {flow, static_cast<std::uint32_t>(bytes.size()), note};
  where.push_back({due, numbered_++, slot});
  return true;
}

void PortFaults::sift_late() { std::push_heap(late_.begin(), late_.end(), kLater); }

Time PortFaults::next_deadline() const {
  const Time held = held_.empty() ? kNever : held_.front().due;  // all wait equally long: the first is due first
  return late_.empty() ? held : std::min(held, late_.front().due);
}

bool PortFaults::take_due(Time now, Slot& slot) {
  if (waiting() == 0 || next_deadline() > now) return false;
  if (late_.empty() || (!held_.empty() && kLater(late_.front(), held_.front()))) {
    slot = held_.front().slot;
    held_.erase(held_.begin());
  } else {
    std::pop_heap(late_.begin(), late_.end(), kLater);
    slot = late_.back().slot;
    late_.pop_back();
  }
  return true;
}

void PortFaults::mark(wire::Flow& flow) { flow.traffic_class |= wire::kCongestionExperienced; }

std::string_view PortFaults::note_of(const world::Fate& verdict) {
  // By three bits: corrupted, marked, not in time.
  static constexpr std::array<std::string_view, 8> kNotes{"",
                                                          "corrupted (impairment)",
                                                          "marked: congestion experienced (impairment)",
                                                          "corrupted and marked (impairment)",
                                                          "out of order or late (impairment)",
                                                          "corrupted, and out of order or late (impairment)",
                                                          "marked, and out of order or late (impairment)",
                                                          "corrupted, marked, and out of order or late (impairment)"};
  const bool waits = verdict.hold || verdict.late > 0;
  return kNotes[std::size_t{verdict.corrupt} | std::size_t{verdict.mark} << 1 | std::size_t{waits} << 2];
}

std::string_view PortFaults::why_dropped(world::DropReason reason) {
  switch (reason) {
    case world::DropReason::loss: return "dropped: loss (impairment)";
    case world::DropReason::black_hole: return "dropped: black hole (impairment)";
    case world::DropReason::script: return "dropped: the plan names this packet (impairment)";
    case world::DropReason::no_route:
    case world::DropReason::no_room: break;
  }
  return "dropped (impairment)";
}

}  // namespace weft::real
