// The clock of whoever drives a lane: clock_now(), cheaper. The processor's own counter is read, and what its ticks are
// worth is learnt from the machine's clock several thousand times a second. So a counter that jumps, or changes its
// speed, is wrong for no longer than that.
#pragma once

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "world/real/os/clock.h"
#include "world/real/os/time.h"

namespace weft::real {

#if defined(__x86_64__) || defined(__aarch64__)

#if defined(__x86_64__)
[[nodiscard]] inline std::uint64_t processor_ticks() { return __rdtsc(); }
#else
[[nodiscard]] inline std::uint64_t processor_ticks() {
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#endif

class LaneClock {
 public:
  // Never goes back. Not for two threads at once.
  [[nodiscard]] Time now() {
    const std::uint64_t passed = processor_ticks() - ticks_;
    if (passed >= believed_) [[unlikely]]
      return learn();
    const auto since = std::min(static_cast<Time>(passed * worth_ >> kShift), kFarthest);
    return last_ = std::max(last_, time_ + since);
  }

 private:
  static constexpr unsigned kShift = 30;
  static constexpr Time kBelieved = microseconds(250);
  static constexpr Time kFarthest = milliseconds(1);

  Time learn() {
    const Time time = clock_now();
    const std::uint64_t ticks = processor_ticks();
    const Time elapsed = time - time_;
    // Too short to learn from, or so long that anything may have happened: the clock is read each time until it is not.
    const bool telling = elapsed > microseconds(50) && elapsed < milliseconds(10) && ticks > ticks_;
    if (telling) worth_ = (static_cast<std::uint64_t>(elapsed) << kShift) / (ticks - ticks_);
    if (telling || elapsed >= milliseconds(10)) {
      time_ = time;
      ticks_ = ticks;
      believed_ = telling ? (static_cast<std::uint64_t>(kBelieved) << kShift) / worth_ : 0;
    }
    return last_ = std::max(last_, time);
  }

  Time time_ = 0, last_ = 0;  // when the clock was read; what was said last
  std::uint64_t ticks_ = 0;   // at that time
  std::uint64_t worth_ = 0;   // of a tick, in nanoseconds, times 2^kShift
  std::uint64_t believed_ = 0;
};

#else

[[nodiscard]] inline std::uint64_t processor_ticks() { return static_cast<std::uint64_t>(clock_now()); }

class LaneClock {
 public:
  [[nodiscard]] Time now() { return clock_now(); }
};

#endif

}  // namespace weft::real
