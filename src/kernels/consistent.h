// A READ of an object that its owner may be changing: it is read again until its checksum is right, and only then
// answered. The checksum is CRC-64 (ECMA-182, reflected) of all bytes before it, in the object's last eight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/kernels/kernel.h"

namespace weft::kernels {

inline constexpr std::uint64_t kConsistent = 0x436F'6E73'6973'7400;  // "Consist"

struct ConsistentCall {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;  // of the object and its checksum
  std::uint32_t tries = 16;
};

[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes);

inline constexpr std::uint32_t kMostObject = 16 * 1024;  // with its checksum: each instance has room for a copy

// Answers the object without its checksum; fails if it was wrong each time.
[[nodiscard]] nic::Kernel consistent(std::uint32_t instances = 16);

}  // namespace weft::kernels
