// Bytes that follow from a seed and from where they lie: data that are damaged, late or in the wrong place show.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace soak {

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EB;
  return x ^ (x >> 31);
}

// Calls `piece(index, expected bytes)` for pieces of up to eight bytes. `at`: the position of the first byte.
template <class Piece>
void walk_pattern(std::size_t size, std::uint64_t seed, std::size_t at, Piece&& piece) {
  for (std::size_t i = 0; i < size;) {
    const std::uint64_t word = mix(seed ^ ((at + i) / 8));
    const std::size_t skip = (at + i) % 8, take = std::min(8 - skip, size - i);
    if (!piece(i, std::as_bytes(std::span(&word, 1)).subspan(skip, take))) return;
    i += take;
  }
}

inline void fill(std::span<std::byte> bytes, std::uint64_t seed, std::size_t at) {
  walk_pattern(bytes.size(), seed, at, [&](std::size_t i, std::span<const std::byte> expected) {
    std::memcpy(bytes.data() + i, expected.data(), expected.size());
    return true;
  });
}

// The index of the first piece that differs.
inline std::optional<std::size_t> first_wrong(std::span<const std::byte> bytes, std::uint64_t seed, std::size_t at) {
  std::optional<std::size_t> wrong;
  walk_pattern(bytes.size(), seed, at, [&](std::size_t i, std::span<const std::byte> expected) {
    if (std::memcmp(bytes.data() + i, expected.data(), expected.size()) != 0) wrong = i;
    return !wrong.has_value();
  });
  return wrong;
}

}  // namespace soak
