// Something of which there is one, and which takes time to use: a direction of the bus, a stage of the pipeline. Who
// wants it says from when on and for how long, also ahead of time and in any order: a free moment before one that is
// taken can still be had. Time is cut into slices, each knowing how much of it is left, but not which part: answers are
// exact while nobody else is there, and to a slice of 66 ns otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::sim {

class Reservations {
 public:
  Reservations() {
    left_.fill(kSlice);
    open_.fill(~std::uint64_t{0});
  }

  // Takes `busy` from `from` on, which is not before `now`, in one piece or several; when it ends.
  Time take(Time now, Time from, Time busy) {
    total_ += busy;
    const std::int64_t slice = from >> kShift;
    if (static_cast<std::uint64_t>(slice - first_) < kSlices) {
      // Mostly there is time enough where it is asked for.
      std::int32_t& left = left_[place(slice)];
      const Time ends = (slice + 1) << kShift;
      if (busy <= std::min<Time>(left, ends - from)) [[likely]] {
        left -= static_cast<std::int32_t>(busy);
        return busy == 0 ? from : std::max(from + busy, ends - left);
      }
    }
    return take_in_pieces(now, from, busy);
  }
  // The same for something small that goes ahead of what is already planned, unless that is very much: who comes later
  // finds less time left.
  Time take_first(Time now, Time from, Time busy) {
    return std::max(from + busy, take(now, from, busy) - kMostOvertaken);
  }

  [[nodiscard]] Time total() const { return total_; }  // that was ever taken

 private:
  static constexpr Time kMostOvertaken = microseconds(2);
  static constexpr int kShift = 16;  // 66 ns
  static constexpr std::int32_t kSlice = 1 << kShift;
  static constexpr std::size_t kSlices = 4096;  // 268 us
  static constexpr std::size_t kWord = 64;

  [[gnu::noinline]] Time take_in_pieces(Time now, Time from, Time busy) {
    begin_at(now >> kShift);
    const std::int64_t last = first_ + static_cast<std::int64_t>(kSlices);
    std::int64_t slice = next_open(std::max(from >> kShift, first_));
    for (; slice < last; slice = next_open(slice + 1)) {
      const Time begins = std::max(from, slice << kShift), ends = (slice + 1) << kShift;
      std::int32_t& left = left_[place(slice)];
      const Time here = std::min<Time>({left, ends - begins, busy});
      left -= static_cast<std::int32_t>(here);
      if (left == 0) close(slice);
      busy -= here;
      if (busy == 0) return std::max(begins + here, ends - left);
    }
    // Further ahead than anybody plans: one after the other.
    beyond_ = std::max({beyond_, from, last << kShift}) + busy;
    return beyond_;
  }

  static std::size_t place(std::int64_t slice) { return static_cast<std::size_t>(slice) % kSlices; }

  // The first slice from `slice` on of which something may be left; at the latest one past the end.
  [[nodiscard]] std::int64_t next_open(std::int64_t slice) const {
    const std::int64_t last = first_ + static_cast<std::int64_t>(kSlices);
    while (slice < last) {
      const std::uint64_t word = open_[place(slice) / kWord] >> place(slice) % kWord;
      if (word != 0) return slice + std::countr_zero(word);
      slice += static_cast<std::int64_t>(kWord - place(slice) % kWord);
    }
    return last;
  }
  void close(std::int64_t slice) { open_[place(slice) / kWord] &= ~(std::uint64_t{1} << place(slice) % kWord); }

  // Slices that are over become those that come kSlices later, a word of them at a time.
  void begin_at(std::int64_t slice) {
    if (slice < first_ + static_cast<std::int64_t>(kWord)) [[likely]]
      return;
    const std::int64_t begin = slice - static_cast<std::int64_t>(place(slice) % kWord);
    const std::int64_t gone = std::min<std::int64_t>(begin - first_, kSlices);
    for (std::int64_t i = begin - gone; i < begin; i += kWord) renew(i + static_cast<std::int64_t>(kSlices));
    first_ = begin;
  }
  // Nothing is taken yet of the word that begins with `slice`, unless it was given away already.
  void renew(std::int64_t slice) {
    open_[place(slice) / kWord] = ~std::uint64_t{0};
    for (std::int64_t i = slice; i < slice + static_cast<std::int64_t>(kWord); ++i) {
      const bool taken = (i + 1) << kShift <= beyond_;
      left_[place(i)] = taken ? 0 : kSlice;
      if (taken) close(i);
    }
  }

  std::array<std::int32_t, kSlices> left_;
  std::array<std::uint64_t, kSlices / kWord> open_;  // a bit for each slice of which something may be left
  std::int64_t first_ = 0;                           // the oldest slice there is, the first of its word
  Time beyond_ = 0, total_ = 0;
};

}  // namespace weft::sim
