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
  const std::size_t udp_bytes = Udp::kBytes + datagram_bytes(opcode, payload_bytes);
  if (!flow.source.is_v4()) {
    Ipv6{.traffic_class = flow.traffic_class, .flow_label = flow.flow_label,
         .payload_length = static_cast<std::uint16_t>(udp_bytes), .hop_limit = flow.hop_limit,
         .source = flow.source, .destination = flow.destination}
        .encode(grh);
    return grh;
  }
  Ipv4 ip{.traffic_class = flow.traffic_class, .total_length = static_cast<std::uint16_t>(Ipv4::kBytes + udp_bytes),
          .hop_limit = flow.hop_limit, .source = flow.source, .destination = flow.destination};
  const auto place = std::span(grh).last<Ipv4::kBytes>();
  ip.encode(place);
  ip.checksum = Ipv4::checksum_of(place);
  ip.encode(place);
  return grh;
}

}  // namespace weft::wire
