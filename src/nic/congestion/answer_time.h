// How long a peer takes to answer: a smoothed time and its variation, as TCP and QUIC keep them (RFC 6298, RFC 9002).
#pragma once

#include "base/time.h"

namespace weft::nic {

class AnswerTime {
 public:
  void add(Time sample) {
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
  Time smoothed_ = 0, variation_ = 0;
};

}  // namespace weft::nic
