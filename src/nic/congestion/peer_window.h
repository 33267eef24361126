// How many packets all connections to one peer may have under way together. Where nobody marks packets (loopback, veth,
// most clouds) the time that an answer takes is the only sign of a queue, wherever that is: in a ring, in a socket, at
// a switch. So the window follows it, as Swift's does (SIGCOMM 2020): once an answer time, it widens while what answers
// take beyond the shortest time is within the target, and narrows in proportion to the excess, by half at the most. It
// starts narrow and doubles until the target is first exceeded. Late answers alone never make it narrower than one
// connection's widest window: programs that share processors are late, too.
// Lost packets do. If any are lost while answers are late, three in a row, or too many in any case, it narrows by a
// quarter, once an answer time. A few lost packets otherwise say nothing: some ways just lose some. Below one
// connection's window it widens in small steps, however late answers are, until packets are lost again: so those who
// share a queue that is always full come to equal shares.
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
    *this = PeerWindow{};
    least_ = std::max(least, 1U);
    packets_ = std::min(kBegin, least_);
    starting_ = true;
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
      before_ = std::exchange(packets_, packets_ > least_ ? least_ : std::max(packets_ / 2, 1U));
      return;
    }
    const Time excess = took - shortest_ - room(target);
    late_ = excess > 0 ? static_cast<std::uint8_t>(std::min(late_ + 1, +kLate)) : std::uint8_t{0};
    if (lost_ != 0 || narrowed_) [[unlikely]] {
      if (see_about_loss()) return;
    }
    if (excess > 0 && packets_ >= least_) {
      starting_ = false;
      const auto cut = static_cast<std::uint32_t>(static_cast<double>(packets_) * kBeta *
                                                  (static_cast<double>(excess) / static_cast<double>(took)));
      packets_ = std::max(packets_ - std::min(cut, packets_ / 2), least_);
    } else if (full_) {
      packets_ = std::min(packets_ + step(excess > 0), kMost);
    }
    full_ = false;
  }
  // A packet was lost. What follows from that is seen with the next answer.
  void note_lost() { ++lost_; }
  // Packets were lost, and whoever sent them goes back to the first of them: that happens once an answer time at most,
  // and no answer is timed then. So the last ones count.
  void on_gap() { late_ == kLate ? narrow(kLeft, kNarrowest) : narrow(kLeftByGap, kBegin); }
  // Nothing has been heard for a local ACK timeout.
  void on_silence() {
    double_until_ = packets_ / 2;
    packets_ = std::min(kNarrowest, least_);
    starting_ = true;
  }

 private:
  static constexpr std::uint32_t kBegin = 16, kStep = 16, kMost = 1U << 20;
  static constexpr std::uint32_t kNarrowest = 4, kNarrowStep = 2;
  static constexpr std::uint32_t kFewLost = 1;  // and one of 32; BBR's is one of 50 (draft-ietf-ccwg-bbr)
  static constexpr double kLeft = 0.75, kLeftByGap = 0.9375;
  static constexpr double kBeta = 0.8;               // Swift's
  static constexpr Time kBelieved = 10'000'000'000;  // nanoseconds; BBR's
  static constexpr std::uint8_t kLate = 3;           // one may be late because its program was not running
  static constexpr std::uint8_t kLooks = 2;  // the first answer is to what was sent before the window was narrow

  [[nodiscard]] std::uint32_t step(bool late) const {
    if (starting_ && packets_ < double_until_) return late ? std::max(packets_ / 4, 1U) : packets_;
    return packets_ < least_ ? kNarrowStep + packets_ / 64 : kStep;
  }

  // So much longer than the shortest time an answer may take without a queue. On a long way an eighth: packets that are
  // acknowledged together take their time there.
  [[nodiscard]] Time room(Time target) const { return std::max(target, shortest_ / 8); }
  // True: the window stays, or has become narrower. What is heard of next was sent before that, and tells nothing new.
  [[gnu::noinline]] bool see_about_loss() {
    const std::uint32_t lost = std::exchange(lost_, 0);
    if (std::exchange(narrowed_, false)) {
      full_ = false;
      return true;
    }
    const bool late = late_ == kLate;
    if (lost == 0 || (!late && lost <= kFewLost + packets_ / 32)) return false;
    narrow(kLeft, late ? kNarrowest : kBegin);
    narrowed_ = true;
    return true;
  }
  void narrow(double left, std::uint32_t least) {
    packets_ = std::max(static_cast<std::uint32_t>(packets_ * left), std::min(least, packets_));
    starting_ = full_ = false;
  }

  void look_for_shortest(Time took, Time now) {
    if (--looks_ > 0) return;
    shortest_ = took;
    shortest_at_ = now;
    packets_ = before_;
  }

  std::uint32_t packets_ = 0, least_ = 0;
  std::uint32_t before_ = 0, lost_ = 0;
  std::uint32_t double_until_ = kMost;
  std::uint8_t looks_ : 4 = 0;
  std::uint8_t late_ : 4 = 0;  // answers in a row
  bool starting_ = false, full_ = false;
  bool narrowed_ = false;  // because of a loss, since the last answer
  Time shortest_ = kNever, shortest_at_ = 0;
};

}  // namespace weft::nic
