// HyperLogLog's hash of values: which register each belongs to, and how long its run of zeros is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/distinct.h"

namespace weft::kernels {

// MurmurHash3's finalizer: each bit of the value changes half of the hash.
[[nodiscard]] constexpr std::uint64_t hash_of(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53;
  return x ^ x >> 33;
}
[[nodiscard]] constexpr std::uint16_t place_of_hash(std::uint64_t hash) {
  return static_cast<std::uint16_t>(hash >> (64 - kSketchBits));
}
[[nodiscard]] constexpr std::uint8_t run_of_hash(std::uint64_t hash) {
  constexpr std::uint64_t kEnd = 1ULL << (kSketchBits - 1);  // of the longest run there can be
  return static_cast<std::uint8_t>(std::countl_zero(hash << kSketchBits | kEnd) + 1);
}

// Of `n` values of eight bytes that lie behind each other, at any address: eight at a time where the machine can.
void find_registers(const std::byte* values, std::size_t n, std::uint16_t* places, std::uint8_t* runs);

}  // namespace weft::kernels
