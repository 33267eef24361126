// How many packets all connections to one peer may have under way together. Where nobody marks packets (loopback, veth,
// most clouds) the time that an answer takes is the only sign of a queue, wherever that is: in a ring, in a socket, at
// a switch. So the window follows it, as Swift's does (SIGCOMM 2020): once an answer time, it widens while what answers
// take beyond the shortest time is within the target, and narrows in proportion to the excess, by half at the most. It
// starts as wide as one connection's widest window, is never narrower, and doubles until the target is first exceeded.
// The shortest time is looked for anew after a while, with a narrow window, so that no queue is taken for a long way
// (as BBR does). What does not fit waits in send queues, where it costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/time.h"

namespace weft::nic {

class PeerWindow {
 public:
  // `least`: packets, one connection's widest window.
  void start(std::uint32_t least) {
    packets_ = least_ = std::max(least, 1U);
    starting_ = true;
    full_ = false;
    looks_ = 0;
    shortest_ = kNever;
  }

  [[nodiscard]] std::uint32_t packets() const { return packets_; }
  // Somebody had to wait because of it: only then does a wider one make sense.
  void note_full() { full_ = true; }

  // `nanosecond`: in ticks of the world's clock.
  void on_answer(Time took, Time target, Time now, Time nanosecond) {
    if (looks_ > 0) return look_for_shortest(took, now);
    if (took <= shortest_) {
      shortest_ = took;
      shortest_at_ = now;
    } else if (now - shortest_at_ >= kBelieved * nanosecond) {
      looks_ = kLooks;
      before_ = std::exchange(packets_, least_);
      return;
    }
    const Time excess = took - shortest_ - target;
    if (excess > 0) {
      starting_ = false;
      const auto cut = static_cast<std::uint32_t>(static_cast<double>(packets_) * kBeta *
                                                  (static_cast<double>(excess) / static_cast<double>(took)));
      packets_ = std::max(packets_ - std::min(cut, packets_ / 2), least_);
    } else if (full_) {
      packets_ = std::min(packets_ + (starting_ ? packets_ : kStep), kMost);
    }
    full_ = false;
  }
  // Nothing has been heard for a local ACK timeout.
  void on_silence() {
    packets_ = least_;
    starting_ = true;
  }

 private:
  static constexpr std::uint32_t kStep = 16, kMost = 1U << 20;
  static constexpr double kBeta = 0.8;               // Swift's
  static constexpr Time kBelieved = 10'000'000'000;  // nanoseconds; BBR's
  static constexpr std::uint8_t kLooks = 2;  // the first answer is to what was sent before the window was narrow

  void look_for_shortest(Time took, Time now) {
    if (--looks_ > 0) return;
    shortest_ = took;
    shortest_at_ = now;
    packets_ = before_;
  }

  std::uint32_t packets_ = 0, least_ = 0;
  std::uint32_t before_ = 0;
  std::uint8_t looks_ = 0;
  bool starting_ = false, full_ = false;
  Time shortest_ = kNever, shortest_at_ = 0;
};

}  // namespace weft::nic
