// A wheel of buckets, each for a stretch of time; who is in one lies side by side with the others, in chunks of a cache
// line. Nobody leaves a bucket before it is opened: whoever opens it finds out who has gone.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/time.h"
#include "base/zeroed_table.h"

namespace weft::nic {

class TimerBuckets {
  static constexpr std::uint32_t kIds = 15, kNoChunk = 0;
  struct alignas(64) Chunk {
    std::uint32_t next;  // the chunk filled before it, or the next that is free; kNoChunk: the last
    std::array<std::uint32_t, kIds> ids;
  };

 public:
  // `nanosecond`: in ticks.
  TimerBuckets(std::size_t owners, Time nanosecond)
      : chunks_(chunks_for(owners)),
        stretch_bits_(std::bit_width(static_cast<std::uint64_t>(kStretch * nanosecond)) - 1) {}

  [[nodiscard]] static constexpr std::size_t bytes_for(std::size_t owners) {
    return chunks_for(owners) * sizeof(Chunk) + kBuckets * sizeof(Bucket);
  }

  // The bucket that it is in from now on. None where there is no bucket for that time, because it is too near or too
  // far, or no room in it.
  std::optional<std::uint32_t> add(std::uint32_t id, Time when) {
    const std::int64_t stretch = stretch_of(when);
    if (stretch <= opened_ || stretch >= opened_ + kBuckets) return std::nullopt;
    const auto number = static_cast<std::uint32_t>(stretch % kBuckets);
    Bucket& bucket = buckets_[number];
    if (bucket.newest == kNoChunk || bucket.filled == kIds) {
      const std::uint32_t chunk = take_chunk();
      if (chunk == kNoChunk) return std::nullopt;
      chunks_[chunk].next = bucket.newest;
      bucket = {chunk, 0};
      occupied_ |= 1ULL << number;
    }
    chunks_[bucket.newest].ids[bucket.filled++] = id;
    next_opening_ = std::min(next_opening_, stretch << stretch_bits_);
    return number;
  }

  // When the first that is not empty is to be opened.
  [[nodiscard]] Time next_opening() const { return next_opening_; }
  [[nodiscard]] Time opening_of(std::uint32_t bucket) const {
    const std::int64_t first = opened_ + 1;
    return (first + ((bucket - first) & (kBuckets - 1))) << stretch_bits_;
  }

  // Opens all whose stretch has begun: look(id, bucket) for everyone in them, expect(id) a little earlier. Whoever is
  // looked at may be added again, to a bucket that is not open.
  template <class Expect, class Look>
  void open(Time now, Expect&& expect, Look&& look) {
    while (next_opening_ <= now) {
      opened_ = stretch_of(next_opening_);
      const auto number = static_cast<std::uint32_t>(opened_ % kBuckets);
      const Bucket bucket = buckets_[number];
      buckets_[number] = {};
      occupied_ &= ~(1ULL << number);
      next_opening_ = first_opening();
      std::uint32_t filled = bucket.filled;
      for (std::uint32_t chunk = bucket.newest; chunk != kNoChunk; chunk = give_back(chunk), filled = kIds) {
        for (std::uint32_t i = 0; i < filled; ++i) expect(chunks_[chunk].ids[i]);
        for (std::uint32_t i = 0; i < filled; ++i) look(chunks_[chunk].ids[i], number);
      }
    }
    opened_ = std::max(opened_, stretch_of(now));
  }

 private:
  struct Bucket {
    std::uint32_t newest = kNoChunk;
    std::uint32_t filled = 0;  // of it; those before it are full
  };
  static constexpr std::int64_t kBuckets = 64;
  // About how long a bucket is, in nanoseconds. A connection at work is acknowledged several times in that time.
  static constexpr Time kStretch = 268'436;

  [[nodiscard]] std::int64_t stretch_of(Time when) const { return when >> stretch_bits_; }
  // For everyone once, and a chunk in each bucket that is not full; number 0 is not used.
  [[nodiscard]] static constexpr std::size_t chunks_for(std::size_t owners) {
    return 1 + owners / kIds + std::min<std::size_t>(kBuckets, owners);
  }

  std::uint32_t take_chunk() {
    if (free_ != kNoChunk) return std::exchange(free_, chunks_[free_].next);
    return untouched_ < chunks_.size() ? untouched_++ : kNoChunk;
  }
  std::uint32_t give_back(std::uint32_t chunk) {
    return std::exchange(chunks_[chunk].next, std::exchange(free_, chunk));
  }

  [[nodiscard]] Time first_opening() const {
    if (occupied_ == 0) return kNever;
    const std::int64_t first = opened_ + 1;
    const int ahead = std::countr_zero(std::rotr(occupied_, static_cast<int>(first % kBuckets)));
    return (first + ahead) << stretch_bits_;
  }

  ZeroedTable<Chunk> chunks_;
  std::array<Bucket, kBuckets> buckets_{};
  int stretch_bits_;            // of the time: those below it tell moments of one bucket apart
  std::uint64_t occupied_ = 0;  // a bit for each bucket
  std::uint32_t free_ = kNoChunk, untouched_ = 1;
  std::int64_t opened_ = 0;  // the last stretch that was
  Time next_opening_ = kNever;
};

}  // namespace weft::nic
