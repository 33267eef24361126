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

// Where the number is in a packet's bytes, for whoever steers datagrams without taking them apart: seven bits.
struct LaneField {
  std::uint32_t byte = 0, shift = 0;
};
inline constexpr std::uint32_t kLaneMask = 0x7F;
// The highest bits of the BTH's destination queue pair; StaR's reserved byte; the highest bits of StaR's QPN, which is
// the stateful side's.
constexpr LaneField lane_field(UdpPort port) {
  constexpr std::uint32_t kOfQpn = kLaneShift - 16;
  return port == UdpPort::roce        ? LaneField{5, kOfQpn}
         : port == UdpPort::stateless ? LaneField{4}
                                      : LaneField{1, kOfQpn};
}

// The lane that a datagram is for. The datagram is at least as long as a BTH.
inline std::uint8_t lane_number(UdpPort port, std::span<const std::byte> datagram) {
  const LaneField field = lane_field(port);
  return static_cast<std::uint8_t>((std::to_integer<std::uint32_t>(datagram[field.byte]) >> field.shift) & kLaneMask);
}

}  // namespace weft::wire
