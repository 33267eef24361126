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

class Calendar {
 public:
  Calendar() {
    left_.fill(kSlice);
    open_.fill(~std::uint64_t{0});
  }

  // Takes `busy` from `from` on, which is not before `now`, in one piece or several; when it ends.
  Time take(Time now, Time from, Time busy) {
    total_ += busy;
    if (busy == 0) return from;
    begin_at(now >> kShift);
    const std::int64_t last = first_ + static_cast<std::int64_t>(kSlices);
    for (std::int64_t slice = next_open(std::max(from >> kShift, first_)); slice < last; slice = next_open(slice + 1)) {
      const Time begins = std::max(from, slice << kShift);
      std::int32_t& left = left_[place(slice)];
      const Time here = std::min({static_cast<Time>(left), ((slice + 1) << kShift) - begins, busy});
      left -= static_cast<std::int32_t>(here);
      if (left == 0) open_[place(slice) / kWord] &= ~(std::uint64_t{1} << place(slice) % kWord);
      busy -= here;
      if (busy == 0) return std::max(begins + here, (slice << kShift) + kSlice - left);
    }
    // Further ahead than anybody plans: one after the other.
    beyond_ = std::max({beyond_, from, last << kShift}) + busy;
    return beyond_;
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

  static std::size_t place(std::int64_t slice) { return static_cast<std::size_t>(slice) % kSlices; }

  // The first slice from `slice` on of which something is left; at the latest one past the end.
  [[nodiscard]] std::int64_t next_open(std::int64_t slice) const {
    const std::int64_t last = first_ + static_cast<std::int64_t>(kSlices);
    while (slice < last) {
      const std::uint64_t word = open_[place(slice) / kWord] >> place(slice) % kWord;
      if (word != 0) return slice + std::countr_zero(word);
      slice += static_cast<std::int64_t>(kWord - place(slice) % kWord);
    }
    return last;
  }
  void begin_at(std::int64_t slice) {
    if (slice <= first_) return;
    const std::int64_t gone = std::min<std::int64_t>(slice - first_, kSlices);
    for (std::int64_t i = slice - gone; i < slice; ++i) renew(i);
    first_ = slice;
  }
  // A slice that is over becomes the one that comes kSlices later, unless that has been given away already.
  void renew(std::int64_t over) {
    const std::int64_t slice = over + static_cast<std::int64_t>(kSlices);
    const bool taken = (slice + 1) << kShift <= beyond_;
    left_[place(slice)] = taken ? 0 : kSlice;
    const std::uint64_t bit = std::uint64_t{1} << place(slice) % kWord;
    (taken ? open_[place(slice) / kWord] &= ~bit : open_[place(slice) / kWord] |= bit);
  }

  std::array<std::int32_t, kSlices> left_;
  std::array<std::uint64_t, kSlices / kWord> open_;  // a bit for each slice of which something is left
  std::int64_t first_ = 0;                           // the oldest slice there is
  Time beyond_ = 0, total_ = 0;
};

}  // namespace weft::sim
