// Where an entry of a ring in host memory is. An address and no more: the card reads what is there through
// nic/host_memory.h, and host software as its own memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nic {

inline std::byte* ring_entry(std::byte* ring, std::uint32_t count, std::uint8_t shift, std::uint16_t stride) {
  return ring + std::size_t{count & ((1U << shift) - 1)} * stride;
}

}  // namespace weft::nic
