// The 40 bytes that a datagram's receive buffer begins with. RoCEv2 has no GRH on the wire; what stands there is the
// IPv6 header, or 20 zero bytes and the IPv4 header with a valid checksum, by which receivers tell the two apart.
#pragma once

#include <array>
#include <cstddef>

#include "wire/codec.h"
#include "wire/ip.h"
#include "wire/packet.h"

namespace weft::wire {

inline constexpr std::size_t kGrhBytes = 40;

inline std::array<std::byte, kGrhBytes> make_grh(const Flow& flow, Opcode opcode, std::size_t payload_bytes) {
  std::array<std::byte, kGrhBytes> grh{};
  const std::size_t udp_payload_bytes = datagram_bytes(opcode, payload_bytes);
  if (flow.destination.is_v4()) {
    encode_ipv4(flow, udp_payload_bytes, std::span(grh).last<Ipv4::kBytes>());
  } else {
    encode_ipv6(flow, udp_payload_bytes, grh);
  }
  return grh;
}

}  // namespace weft::wire
