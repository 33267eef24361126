// Pointer chasing: from an element of a structure to the next, until a key matches; then the value that belongs to it.
// The parameters are those of StRoM's traversal kernel (table 2), and two that trees need.
#pragma once

#include <cstdint>

#include "nic/kernels/kernel.h"

namespace weft::kernels {

inline constexpr std::uint64_t kTraverse = 0x5472'6176'6572'7365;  // "Traverse"
inline constexpr std::uint32_t kElementBytes = 64;

enum class Predicate : std::uint8_t { equal, less_than, greater_than, not_equal };  // the key sought, and the one there

// Positions are in words of 4 bytes in an element of 64 bytes.
struct TraverseCall {
  std::uint64_t address = 0;  // of the first element
  std::uint64_t key = 0;
  std::uint32_t value_bytes = 0;
  std::uint16_t key_mask = 1;  // where there are keys, of 8 bytes: bit i is word i
  Predicate predicate{};
  std::uint8_t value_position = 0;  // of the pointer to the value: in the element,
  bool is_relative = false;         //   or from the key that matches
  bool has_next = true;
  std::uint8_t next_position = 0;  // of the pointer to the next element, if no key matches; 0 there ends it
  // Trees: so often what belongs to a key that matches is another element, and not the value. The last time keys are
  // compared by `last_predicate`.
  std::uint8_t levels = 0;
  Predicate last_predicate{};
  std::uint8_t unused[7] = {};
};
static_assert(sizeof(TraverseCall) == 40);

// Answers the value, or nothing if there is no such key. `most_elements`: a longer way is stopped.
[[nodiscard]] nic::Kernel traverse(std::uint32_t most_elements = 4096, std::uint32_t instances = 64);

}  // namespace weft::kernels
