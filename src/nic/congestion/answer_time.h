// How long a peer takes to answer: a smoothed time and its variation, as TCP and QUIC keep them (RFC 6298, RFC 9002).
#pragma once

#include <algorithm>

#include "base/time.h"

namespace weft::nic {

class AnswerTime {
 public:
  // `nanosecond`: in ticks of the world's clock. An answer that takes longer than kMost says nothing about the way: one
  // of the programs was stopped meanwhile, or the clock was set.
  void add(Time took, Time nanosecond) {
    const Time sample = std::min(took, kMost * nanosecond);
    if (smoothed_ == 0) {
      smoothed_ = sample;
      variation_ = sample / 2;
      return;
    }
    const Time off = sample > smoothed_ ? sample - smoothed_ : smoothed_ - sample;
    variation_ += (off - variation_) / 4;
    smoothed_ += (sample - smoothed_) / 8;
  }

  [[nodiscard]] bool known() const { return smoothed_ != 0; }
  [[nodiscard]] Time smoothed() const { return smoothed_; }
  // An answer that takes longer than this is missed, and asked for.
  [[nodiscard]] Time longest() const { return smoothed_ + 4 * variation_; }
  // What was sent so long before something that has been answered is lost, whatever was reordered (RFC 9002, 6.1.2).
  [[nodiscard]] Time reordering() const { return smoothed_ + smoothed_ / 8; }

 private:
  static constexpr Time kMost = 1'000'000'000;  // nanoseconds

  Time smoothed_ = 0, variation_ = 0;
};

}  // namespace weft::nic
