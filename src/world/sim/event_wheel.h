// Events of the less near future, in buckets: a radix heap with 64 buckets a level. An event stands at the level of
// the highest base-64 digit in which its time differs from `base`, in the bucket of that digit's value. So the
// earliest events are always in the first bucket of the lowest level in use, and when that bucket is opened its events
// sink to lower levels, each of them at most once a level. The bits that are set in a level's word say which of its
// buckets hold events.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "world/sim/event.h"

namespace weft::sim {

class EventWheel {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // No event here is earlier than this.
  [[nodiscard]] Time base() const { return base_; }

  void push(const Event& event) {
    assert(event.at >= base_);
    place(event);
    ++size_;
  }

  // Moves the base forward, no further than to the end of what take_first gave out: nothing here can stand below the
  // level of the bucket it opened, so all stay where they are. Without events it moves anywhere.
  void rebase(Time base) {
    assert(base >= base_ || empty());
    base_ = base;
  }

  // Pours the first buckets into `sink`, in no order: as many as hold at most `few` events together, but at least one,
  // once it is that small or cannot be divided further. Answers up to which time, exclusive, all events are now out.
  template <class Sink>
  Time take_first(std::size_t few, Sink&& sink) {
    assert(size_ > 0);
    for (;;) {
      const int level = std::countr_zero(levels_);
      if (level == 0 || first_of(level).count <= few) return pour(level, few, sink);
      empty_out(open(level), [this](const Event& event) { place(event); });
    }
  }

 private:
  static constexpr int kDigitBits = 6;
  static constexpr int kLevels = 11;  // 66 bits
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  static constexpr std::uint32_t kPerChunk = 8;

  // Buckets are lists of chunks from a common store, so what one bucket gave back another can use.
  struct alignas(64) Chunk {
    std::array<Event, kPerChunk> events;
  };
  struct Bucket {
    std::uint32_t head = kNone;  // the chunk being filled; those behind it are full
    std::uint32_t count = 0;
  };

  void place(const Event& event) {
    const std::uint64_t differs = static_cast<std::uint64_t>(event.at ^ base_) | 1;
    const int level = (63 - std::countl_zero(differs)) / kDigitBits;
    const int digit = static_cast<int>(static_cast<std::uint64_t>(event.at) >> (level * kDigitBits) & 63);
    Bucket& bucket = buckets_[level][digit];
    const std::uint32_t at = bucket.count++ % kPerChunk;
    if (at == 0) {
      const std::uint32_t fresh = take_chunk();
      next_[fresh] = bucket.head;
      bucket.head = fresh;
      used_[level] |= std::uint64_t{1} << digit;
      levels_ |= 1u << level;
    }
    chunks_[bucket.head].events[at] = event;
  }
  [[nodiscard]] Bucket first_of(int level) const { return buckets_[level][std::countr_zero(used_[level])]; }

  // Takes a level's first bucket out and moves the base to its first instant: the base's own digits above this level,
  // this digit, and zeros below.
  Bucket open(int level) {
    const int digit = std::countr_zero(used_[level]);
    const int shift = level * kDigitBits;
    const std::uint64_t above = shift + kDigitBits >= 64 ? 0 : ~std::uint64_t{0} << (shift + kDigitBits);
    rebase(static_cast<Time>((static_cast<std::uint64_t>(base_) & above) | static_cast<std::uint64_t>(digit) << shift));
    const Bucket opened = buckets_[level][digit];
    buckets_[level][digit] = {};
    used_[level] &= used_[level] - 1;
    if (used_[level] == 0) levels_ &= ~(1u << level);
    return opened;
  }

  template <class Sink>
  Time pour(int level, std::size_t few, Sink& sink) {
    std::size_t poured = 0;
    do {
      const Bucket opened = open(level);
      size_ -= opened.count;
      poured += opened.count;
      empty_out(opened, sink);
    } while (used_[level] != 0 && poured + first_of(level).count <= few);
    const std::uint64_t end = static_cast<std::uint64_t>(base_) + (std::uint64_t{1} << (level * kDigitBits));
    return end >= static_cast<std::uint64_t>(kNever) ? kNever : static_cast<Time>(end);
  }

  template <class Sink>
  void empty_out(Bucket bucket, Sink&& sink) {
    while (bucket.head != kNone) {
      const std::uint32_t in_head = (bucket.count - 1) % kPerChunk + 1;
      // By value: the sink may take new chunks, and the store may move.
      for (std::uint32_t i = 0; i < in_head; ++i) sink(Event(chunks_[bucket.head].events[i]));
      const std::uint32_t next = next_[bucket.head];
      next_[bucket.head] = free_;
      free_ = bucket.head;
      bucket.head = next;
      bucket.count -= in_head;
    }
  }
  std::uint32_t take_chunk() {
    if (free_ == kNone) {
      chunks_.emplace_back();
      next_.push_back(kNone);
      return static_cast<std::uint32_t>(chunks_.size() - 1);
    }
    const std::uint32_t taken = free_;
    free_ = next_[taken];
    return taken;
  }

  Time base_ = 0;
  std::size_t size_ = 0;
  std::uint32_t levels_ = 0;
  std::uint32_t free_ = kNone;
  std::array<std::uint64_t, kLevels> used_{};
  std::array<std::array<Bucket, 64>, kLevels> buckets_{};
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> next_;  // of each chunk: the one behind it in its bucket, or in the free list
};

}  // namespace weft::sim
