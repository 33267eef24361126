// Programs of one host share an address. Each has a lane, and the lane's number is in the top 7 bits of its queue pair
// numbers. Number 0 is the broker's (QP1), 127 is where multicast would be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/types.h"

namespace weft::wire {

inline constexpr std::uint32_t kLaneShift = 17;
inline constexpr std::uint8_t kFirstLane = 1, kLastLane = 126;

constexpr std::uint8_t lane_number(Qpn qpn) { return static_cast<std::uint8_t>(qpn.raw() >> kLaneShift); }

// Where the number is in a packet's bytes, for whoever steers datagrams without taking them apart: the highest bits of
// the BTH's destination queue pair.
inline constexpr std::uint32_t kLaneByte = 5, kLaneByteShift = kLaneShift - 16;

// Of a datagram that is at least as long as a BTH.
inline std::uint8_t lane_number(std::span<const std::byte> datagram) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(datagram[kLaneByte]) >> kLaneByteShift);
}

}  // namespace weft::wire
