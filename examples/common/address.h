// Verbs and the table speak of memory in numbers; this is where a number becomes a place, and back.
#pragma once

#include <bit>
#include <cstdint>

namespace examples {

inline std::uint64_t number_of(const void* place) { return std::bit_cast<std::uintptr_t>(place); }

template <class T>
[[nodiscard]] T* place_of(std::uint64_t number) {
  return std::bit_cast<T*>(static_cast<std::uintptr_t>(number));
}

}  // namespace examples
