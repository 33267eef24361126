// Verbs speaks of memory in numbers; this is where a number becomes a place, and back.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace weft::verbs {

inline std::byte* place_of(std::uint64_t address) {
  return std::bit_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}
inline std::uint64_t number_of(const void* place) { return std::bit_cast<std::uintptr_t>(place); }

}  // namespace weft::verbs
