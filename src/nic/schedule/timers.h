// Deadlines of many owners. Most are never reached: what they wait for comes first. So a deadline that is not near goes
// into a bucket with all that lie in the same stretch of time (timer_buckets.h), and when that stretch begins, those
// that still mean it go into a heap, from which they leave in their exact order. An owner's true deadline stands in its
// own slot and may move later without telling anyone: it is looked at when the owner comes up. An acknowledgement that
// pushes a deadline back, or makes it needless, costs one store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/prefetch.h"
#include "base/time.h"
#include "nic/context.h"
#include "nic/schedule/timer_buckets.h"

namespace weft::nic {

// `Owners` answers owners[id].deadline and owners[id].timer: where it stands, 0 is nowhere.
template <class Owners>
class Timers {
  struct Entry {
    std::uint32_t id = 0;
    std::uint32_t low = 0, high = 0;  // of the time, in twelve bytes all together

    Entry(std::uint32_t owner, Time when)
        : id(owner), low(static_cast<std::uint32_t>(when)), high(static_cast<std::uint32_t>(when >> 32)) {}
    [[nodiscard]] Time when() const { return static_cast<Time>(std::uint64_t{high} << 32 | low); }
  };
  static_assert(sizeof(Entry) == 12);

 public:
  // Every owner stands in the heap at most once: with room for all of them it never grows.
  Timers(Owners& owners, Time nanosecond) : owners_(owners), buckets_(owners.size(), nanosecond) {
    heap_.reserve(owners.size());
  }

  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t owners) {
    return owners * sizeof(Entry) + TimerBuckets::bytes_for(owners);
  }

  void arm(std::uint32_t id, Time when) {
    auto& owner = owners_[id];
    owner.deadline = when;
    if (owner.timer == kNowhere) {
      put(id, when);
    } else if (!is_bucket(owner.timer)) {
      const std::uint32_t index = owner.timer - 1;
      if (when >= heap_[index].when()) return;
      heap_[index] = {id, when};
      rise(index);
    } else if (when < buckets_.opening_of(owner.timer - kBucket)) {
      put(id, when);  // its bucket has it still, but it will be found to be elsewhere
    }
  }
  void disarm(std::uint32_t id) { owners_[id].deadline = kNever; }
  void remove(std::uint32_t id) {
    auto& owner = owners_[id];
    owner.deadline = kNever;
    if (owner.timer != kNowhere && !is_bucket(owner.timer)) take_out(owner.timer - 1);
    owner.timer = kNowhere;
  }
  // When somebody must look again; not later than the earliest true deadline.
  [[nodiscard]] Time next() const {
    return std::min(buckets_.next_opening(), heap_.empty() ? kNever : heap_.front().when());
  }

  // The next owner whose deadline has come, disarmed; kNone when there is none.
  [[nodiscard]] std::uint32_t pop_due(Time now) {
    open_buckets(now);
    while (!heap_.empty() && heap_.front().when() <= now) {
      const Time when = heap_.front().when();
      const std::uint32_t id = heap_.front().id;
      const Time truth = owners_[id].deadline;
      take_out(0);
      if (truth == when) {
        owners_[id].deadline = kNever;
        return id;
      }
      if (truth != kNever) put(id, truth);
    }
    return kNone;
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_for(owners_.size()); }

 private:
  // Where an owner stands: nowhere, kBucket + number of the bucket, or index in the heap + 1.
  static constexpr std::uint32_t kNowhere = 0, kBucket = 1U << 31;
  static constexpr std::uint32_t kBranches = 4;  // of the heap: with few levels few owners are written to

  [[nodiscard]] static bool is_bucket(std::uint32_t timer) { return (timer & kBucket) != 0; }

  void put(std::uint32_t id, Time when) {
    if (const auto bucket = buckets_.add(id, when)) {
      owners_[id].timer = kBucket + *bucket;
      return;
    }
    heap_.emplace_back(id, when);
    rise(static_cast<std::uint32_t>(heap_.size() - 1));
  }

  void open_buckets(Time now) {
    buckets_.open(
        now,
        [this](std::uint32_t id) {
          prefetch(&owners_[id].deadline);
          prefetch(&owners_[id].timer);
        },
        [this](std::uint32_t id, std::uint32_t bucket) {
          auto& owner = owners_[id];
          if (owner.timer != kBucket + bucket) return;  // has gone elsewhere, or is gone
          owner.timer = kNowhere;
          if (owner.deadline != kNever) put(id, owner.deadline);
        });
  }

  // ---- the heap

  [[nodiscard]] static std::uint32_t above(std::uint32_t index) { return (index - 1) / kBranches; }
  void set(std::uint32_t index, Entry e) {
    heap_[index] = e;
    owners_[e.id].timer = index + 1;
  }
  void rise(std::uint32_t index) {
    const Entry e = heap_[index];
    for (; index > 0 && e.when() < heap_[above(index)].when(); index = above(index)) set(index, heap_[above(index)]);
    set(index, e);
  }
  void sink(std::uint32_t index) {
    const Entry e = heap_[index];
    const auto size = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t first = kBranches * index + 1; first < size; first = kBranches * index + 1) {
      std::uint32_t child = first;
      const std::uint32_t end = std::min(first + kBranches, size);
      for (std::uint32_t other = first + 1; other < end; ++other) {
        if (heap_[other].when() < heap_[child].when()) child = other;
      }
      if (e.when() <= heap_[child].when()) break;
      set(index, heap_[child]);
      index = child;
    }
    set(index, e);
  }
  void take_out(std::uint32_t index) {
    owners_[heap_[index].id].timer = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (index == heap_.size()) return;
    set(index, last);
    rise(index);
    sink(owners_[last.id].timer - 1);
  }

  Owners& owners_;
  TimerBuckets buckets_;
  std::vector<Entry> heap_;
};

}  // namespace weft::nic
