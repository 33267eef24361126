// HyperLogLog's hash of values: which register each belongs to, and how long its run of zeros is.
#pragma once

#include <algorithm>
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

// The bits that are all zero in a hash whose run is longer than `floor`. Beyond the longest run there is, it is those
// of the longest one.
[[nodiscard]] constexpr std::uint64_t bits_of_run(std::uint32_t floor) {
  constexpr std::uint32_t kBits = 64 - kSketchBits;
  const std::uint32_t zeros = std::min(floor, kBits);
  return ((1ULL << zeros) - 1) << (kBits - zeros);
}
static_assert((bits_of_run(3) & hash_of(0)) == 0 && run_of_hash(0) == 64 - kSketchBits + 1);

// Of as many values the hashes in which none of these bits is set, in order, and how many they are. There is room for n
// and kMoreHashes.
inline constexpr std::size_t kMoreHashes = 8;
std::size_t find_hashes(const std::byte* values, std::size_t n, std::uint64_t bits, std::uint64_t* hashes);

}  // namespace weft::kernels
