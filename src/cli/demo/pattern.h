// Bytes that are known again: they follow from a seed and their place, and do not repeat in a way that would hide a
// mistake.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace weft::cli {

// Splitmix64: a number that follows from another and looks like none.
constexpr std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15U;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBU;
  return x ^ (x >> 31);
}

// Numbers from a seed, one after the other.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return state_ = scramble(state_); }
  // From 1 to `longest`, short ones as often as long ones.
  std::uint32_t length(std::uint32_t longest) {
    const std::uint64_t most = std::max<std::uint64_t>(longest >> next() % 12, 1);
    return static_cast<std::uint32_t>(1 + next() % most);
  }

 private:
  std::uint64_t state_;
};

namespace detail {
template <class Each>
void for_each_word(std::size_t bytes, std::uint64_t seed, Each&& each) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = scramble(seed + at);
    each(at, &word, std::min<std::size_t>(8, bytes - at));
  }
}
}  // namespace detail

inline void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  detail::for_each_word(bytes.size(), seed,
                        [&](std::size_t at, const void* word, std::size_t n) { std::memcpy(&bytes[at], word, n); });
}

[[nodiscard]] inline bool matches(std::span<const std::byte> bytes, std::uint64_t seed) {
  bool same = true;
  detail::for_each_word(bytes.size(), seed, [&](std::size_t at, const void* word, std::size_t n) {
    same = same && std::memcmp(&bytes[at], word, n) == 0;
  });
  return same;
}

}  // namespace weft::cli
