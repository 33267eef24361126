// Something of which there is one, and which takes time to use: a direction of the bus, a stage of the pipeline. Who
// wants it says from when on and for how long, also ahead of time and in any order: a free moment before one that is
// taken can still be had. Time is cut into slices, each knowing how much of it is left.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/time.h"

namespace weft::sim {

class Calendar {
 public:
  Calendar() { left_.fill(kSlice); }

  // Takes `busy` from `from` on, which is not before `now`, in one piece or several; when it ends.
  Time take(Time now, Time from, Time busy) {
    total_ += busy;
    if (busy == 0) return from;
    begin_at(now >> kShift);
    std::int64_t slice = std::max(from >> kShift, std::max(full_until_, first_));
    const std::int64_t last = first_ + static_cast<std::int64_t>(kSlices);
    for (; slice < last; ++slice) {
      const Time begins = std::max(from, slice << kShift);
      std::int32_t& left = left_[static_cast<std::size_t>(slice) % kSlices];
      const Time here = std::min({static_cast<Time>(left), ((slice + 1) << kShift) - begins, busy});
      left -= static_cast<std::int32_t>(here);
      busy -= here;
      if (left == 0 && slice == full_until_) ++full_until_;
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

  void begin_at(std::int64_t slice) {
    if (slice <= first_) return;
    const std::int64_t gone = std::min<std::int64_t>(slice - first_, kSlices);
    for (std::int64_t i = 0; i < gone; ++i) left_[static_cast<std::size_t>(first_ + i) % kSlices] = kSlice;
    first_ = slice;
    full_until_ = std::max(full_until_, first_);
  }

  std::array<std::int32_t, kSlices> left_;
  std::int64_t first_ = 0;       // the oldest slice there is
  std::int64_t full_until_ = 0;  // all before this one are full
  Time beyond_ = 0, total_ = 0;
};

}  // namespace weft::sim
