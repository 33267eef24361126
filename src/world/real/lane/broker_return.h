// When a lane tries to come back to a broker, after the last one was killed. Others that come back may still have the
// addresses' sockets: it looks again soon. Or no broker can be started: it tries again, more and more seldom. A pure
// machine.
#pragma once

#include <algorithm>

#include "world/real/os/time.h"

namespace weft::real {

class BrokerReturn {
 public:
  // -- all thresholds: the pauses between two tries
  static constexpr Time kFirstPause = milliseconds(5), kLongestPause = seconds(1);
  static constexpr Time kUntilOthersAreBack = milliseconds(20);

  void lost(Time now) {
    next_try_ = now;
    pause_ = kFirstPause;
  }
  void failed(Time now) {
    pause_ = std::min(2 * pause_, kLongestPause);
    next_try_ = now + pause_;
  }
  void must_wait_for_others(Time now) {
    pause_ = kFirstPause;
    next_try_ = now + kUntilOthersAreBack;
  }
  void came_back() { next_try_ = kNever; }

  [[nodiscard]] bool is_away() const { return next_try_ != kNever; }
  [[nodiscard]] Time next_try() const { return next_try_; }  // kNever: there is a broker

 private:
  Time next_try_ = kNever;
  Time pause_ = kFirstPause;
};

}  // namespace weft::real
