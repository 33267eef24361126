// Time is an argument everywhere in the pure rooms: ticks since the world began. A tick is a picosecond in the
// simulated world, where 63 bits last 106 days, and a nanosecond in the real one, where they last 292 years
// (world/real/os/time.h has the functions below for it). nic::CardConfig::nanosecond tells a card which.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

using Time = std::int64_t;

inline constexpr Time kNever = std::numeric_limits<Time>::max();

// The simulated world counts picoseconds.
constexpr Time nanoseconds(std::int64_t n) { return n * 1'000; }
constexpr Time microseconds(std::int64_t n) { return n * 1'000'000; }
constexpr Time milliseconds(std::int64_t n) { return n * 1'000'000'000; }
constexpr Time seconds(std::int64_t n) { return n * 1'000'000'000'000; }

}  // namespace weft
