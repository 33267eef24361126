// Deadlines of many owners in one heap, of four branches: whoever moves writes its place down in its own slot, and with
// fewer levels fewer owners move. An owner's true deadline stands in its own slot and may move later
// without telling the heap: the heap then fires early, sees the true deadline and puts it back. So an
// acknowledgement that pushes a deadline back costs one store, not a heap operation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.h"
#include "nic/context.h"

namespace weft::nic {

// `Owners` answers owners[id].deadline and owners[id].timer_place.
template <class Owners>
class TimerHeap {
  struct Entry {
    Time when;
    std::uint32_t id;
  };

 public:
  static constexpr std::size_t kEntryBytes = sizeof(Entry);

  // Every owner stands in the heap at most once: with room for all of them it never grows.
  explicit TimerHeap(Owners& owners) : owners_(owners) { heap_.reserve(owners.size()); }

  void arm(std::uint32_t id, Time when) {
    auto& owner = owners_[id];
    owner.deadline = when;
    if (owner.timer_place == kNone) {
      owner.timer_place = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({when, id});
      rise(owner.timer_place);
    } else if (when < heap_[owner.timer_place].when) {
      heap_[owner.timer_place].when = when;
      rise(owner.timer_place);
    }
  }
  void disarm(std::uint32_t id) { owners_[id].deadline = kNever; }
  void remove(std::uint32_t id) {
    const std::uint32_t place = owners_[id].timer_place;
    owners_[id].deadline = kNever;
    if (place != kNone) take_out(place);
  }
  // When somebody must look again; not later than the earliest true deadline.
  [[nodiscard]] Time next() const { return heap_.empty() ? kNever : heap_.front().when; }

  // The next owner whose deadline has come, disarmed; kNone when there is none.
  [[nodiscard]] std::uint32_t pop_due(Time now) {
    while (!heap_.empty() && heap_.front().when <= now) {
      const std::uint32_t id = heap_.front().id;
      const Time truth = owners_[id].deadline;
      if (truth != kNever && truth > now) {
        heap_.front().when = truth;
        sink(0);
        continue;
      }
      take_out(0);
      if (truth == kNever) continue;
      owners_[id].deadline = kNever;
      return id;
    }
    return kNone;
  }

  [[nodiscard]] std::size_t bytes() const { return heap_.capacity() * kEntryBytes; }

 private:
  static constexpr std::uint32_t kBranches = 4;

  [[nodiscard]] static std::uint32_t above(std::uint32_t place) { return (place - 1) / kBranches; }
  void set(std::uint32_t place, Entry e) {
    heap_[place] = e;
    owners_[e.id].timer_place = place;
  }
  void rise(std::uint32_t place) {
    const Entry e = heap_[place];
    for (; place > 0 && e.when < heap_[above(place)].when; place = above(place)) set(place, heap_[above(place)]);
    set(place, e);
  }
  void sink(std::uint32_t place) {
    const Entry e = heap_[place];
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t first = kBranches * place + 1; first < size; first = kBranches * place + 1) {
      std::uint32_t child = first;
      const std::uint32_t end = std::min(first + kBranches, size);
      for (std::uint32_t other = first + 1; other < end; ++other) {
        if (heap_[other].when < heap_[child].when) child = other;
      }
      if (e.when <= heap_[child].when) break;
      set(place, heap_[child]);
      place = child;
    }
    set(place, e);
  }
  void take_out(std::uint32_t place) {
    owners_[heap_[place].id].timer_place = kNone;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    set(place, last);
    rise(place);
    sink(owners_[last.id].timer_place);
  }

  Owners& owners_;
  std::vector<Entry> heap_;
};

}  // namespace weft::nic
