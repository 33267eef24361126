// Time in the real world counts nanoseconds, so that it ends after 292 years. Inside weft::real these functions hide
// those of base/time.h, which count the simulated world's picoseconds. So nothing in this world includes that file.
#pragma once

#include <cstdint>

#include <time.h>

#include "base/time.h"

namespace weft::real {

constexpr Time nanoseconds(std::int64_t n) { return n; }
constexpr Time microseconds(std::int64_t n) { return n * 1'000; }
constexpr Time milliseconds(std::int64_t n) { return n * 1'000'000; }
constexpr Time seconds(std::int64_t n) { return n * 1'000'000'000; }

// What texts (world/time_text.h) and plans say in picoseconds, rounded up.
constexpr Time of_picoseconds(std::int64_t n) { return n == kNever ? kNever : n / 1'000 + (n % 1'000 > 0 ? 1 : 0); }

constexpr timespec timespec_of(Time span) {
  return {.tv_sec = static_cast<time_t>(span / seconds(1)), .tv_nsec = static_cast<long>(span % seconds(1))};
}

}  // namespace weft::real
