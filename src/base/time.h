// Time is an argument everywhere in the pure rooms: picoseconds since the world began.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

using Time = std::int64_t;

inline constexpr Time kNever = std::numeric_limits<Time>::max();

constexpr Time nanoseconds(std::int64_t n) { return n * 1'000; }
constexpr Time microseconds(std::int64_t n) { return n * 1'000'000; }
constexpr Time milliseconds(std::int64_t n) { return n * 1'000'000'000; }
constexpr Time seconds(std::int64_t n) { return n * 1'000'000'000'000; }

}  // namespace weft
