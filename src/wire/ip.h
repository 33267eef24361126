// The headers around RoCEv2: Ethernet, IPv4 or IPv6, UDP. Layouts only; what is acceptable is wire/frame.h's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/packet.h"
#include "wire/types.h"

namespace weft::wire {

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800, kEtherTypeIpv6 = 0x86DD;
inline constexpr std::uint8_t kProtocolUdp = 17, kProtocolIpv6Fragment = 44;
// ECN, the low two bits of the traffic class, as a switch that is congested writes it (RFC 3168).
inline constexpr std::uint8_t kCongestionExperienced = 3;

struct Mac {
  std::array<std::uint8_t, 6> bytes{};
  friend constexpr bool operator==(const Mac&, const Mac&) = default;
};

struct Ethernet {
  static constexpr std::size_t kBytes = 14;
  Mac destination{}, source{};
  std::uint16_t type = kEtherTypeIpv4;
  friend constexpr bool operator==(const Ethernet&, const Ethernet&) = default;

  static constexpr Ethernet decode(std::span<const std::byte, kBytes> b) {
    return {.destination = {get_array<0, 6, std::uint8_t>(b)},
            .source = {get_array<6, 6, std::uint8_t>(b)},
            .type = get<std::uint16_t, 12>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put_array<0>(b, destination.bytes);
    put_array<6>(b, source.bytes);
    put<std::uint16_t, 12>(b, type);
  }
};
static_assert(round_trips(Ethernet{
    .destination = {{1, 2, 3, 4, 5, 6}}, .source = {{7, 8, 9, 10, 11, 12}}, .type = 0x86DD}));

// The part of an IPv4 header that a sender is free to choose and the ICRC covers. An unconnected UDP socket on Linux
// sends identification 0 and DF, and so do we.
struct Ipv4Ident {
  std::uint16_t identification = 0;
  std::uint16_t flags_offset = 0x4000;  // three flags and the fragment offset; DF
  friend constexpr bool operator==(const Ipv4Ident&, const Ipv4Ident&) = default;

  [[nodiscard]] constexpr bool is_fragment() const { return (flags_offset & 0x3FFF) != 0; }
};

struct Ipv4 {
  static constexpr std::size_t kBytes = 20;
  std::uint8_t version = 4, header_words = 5;  // 4 bits each
  std::uint8_t traffic_class = 0;
  std::uint16_t total_length = 0;
  Ipv4Ident ident{};
  std::uint8_t hop_limit = 64, protocol = kProtocolUdp;
  std::uint16_t checksum = 0;
  Address source = Address::v4(0, 0, 0, 0), destination = Address::v4(0, 0, 0, 0);
  friend constexpr bool operator==(const Ipv4&, const Ipv4&) = default;

  static constexpr Ipv4 decode(std::span<const std::byte, kBytes> b) {
    const auto first = get<std::uint32_t, 0>(b);
    return {.version = bits<28, 4>(first),
            .header_words = bits<24, 4>(first),
            .traffic_class = bits<16, 8>(first),
            .total_length = static_cast<std::uint16_t>(first),
            .ident = {.identification = get<std::uint16_t, 4>(b), .flags_offset = get<std::uint16_t, 6>(b)},
            .hop_limit = get<std::uint8_t, 8>(b),
            .protocol = get<std::uint8_t, 9>(b),
            .checksum = get<std::uint16_t, 10>(b),
            .source = mapped(get<std::uint32_t, 12>(b)),
            .destination = mapped(get<std::uint32_t, 16>(b))};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, place_bits<28, 4>(version) | place_bits<24, 4>(header_words) |
                                 place_bits<16, 8>(traffic_class) | total_length);
    put<std::uint16_t, 4>(b, ident.identification);
    put<std::uint16_t, 6>(b, ident.flags_offset);
    put<std::uint8_t, 8>(b, hop_limit);
    put<std::uint8_t, 9>(b, protocol);
    put<std::uint16_t, 10>(b, checksum);
    for (std::size_t i = 0; i < 4; ++i) {
      b[12 + i] = std::byte{source.bytes[12 + i]};
      b[16 + i] = std::byte{destination.bytes[12 + i]};
    }
  }
  // RFC 791: what the checksum field must hold; its own two bytes count as zero.
  static constexpr std::uint16_t checksum_of(std::span<const std::byte, kBytes> b) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kBytes; i += 2) {
      if (i != 10) sum += load_be<std::uint16_t>(b.data() + i);
    }
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
  }

 private:
  static constexpr Address mapped(std::uint32_t a) {
    return Address::v4(static_cast<std::uint8_t>(a >> 24), static_cast<std::uint8_t>(a >> 16),
                       static_cast<std::uint8_t>(a >> 8), static_cast<std::uint8_t>(a));
  }
};
static_assert(round_trips(Ipv4{.header_words = 15,
                               .traffic_class = 0xA3,
                               .total_length = 0x1234,
                               .ident = {0xBEEF, 0x2001},
                               .hop_limit = 9,
                               .protocol = 6,
                               .checksum = 0xABCD,
                               .source = Address::v4(10, 1, 2, 3),
                               .destination = Address::v4(255, 255, 255, 255)}));

struct Ipv6 {
  static constexpr std::size_t kBytes = 40;
  std::uint8_t version = 6, traffic_class = 0;
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint16_t payload_length = 0;
  std::uint8_t next_header = kProtocolUdp, hop_limit = 64;
  Address source{}, destination{};
  friend constexpr bool operator==(const Ipv6&, const Ipv6&) = default;

  static constexpr Ipv6 decode(std::span<const std::byte, kBytes> b) {
    const auto first = get<std::uint32_t, 0>(b);
    return {.version = bits<28, 4>(first),
            .traffic_class = bits<20, 8>(first),
            .flow_label = first & 0xF'FFFF,
            .payload_length = get<std::uint16_t, 4>(b),
            .next_header = get<std::uint8_t, 6>(b),
            .hop_limit = get<std::uint8_t, 7>(b),
            .source = {get_array<8, 16, std::uint8_t>(b)},
            .destination = {get_array<24, 16, std::uint8_t>(b)}};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, place_bits<28, 4>(version) | place_bits<20, 8>(traffic_class) | (flow_label & 0xF'FFFF));
    put<std::uint16_t, 4>(b, payload_length);
    put<std::uint8_t, 6>(b, next_header);
    put<std::uint8_t, 7>(b, hop_limit);
    put_array<8>(b, source.bytes);
    put_array<24>(b, destination.bytes);
  }
};
static_assert(round_trips(Ipv6{.traffic_class = 0x5A,
                               .flow_label = 0xA'BCDE,
                               .payload_length = 0x4321,
                               .next_header = 44,
                               .hop_limit = 3,
                               .source = {{0xFE, 0x80, 1}},
                               .destination = {{2}}}));

struct Udp {
  static constexpr std::size_t kBytes = 8;
  std::uint16_t source_port = 0, destination_port = kRocePort, length = 0;
  std::uint16_t checksum = 0;  // RoCEv2 sends none: the ICRC is stronger
  friend constexpr bool operator==(const Udp&, const Udp&) = default;

  static constexpr Udp decode(std::span<const std::byte, kBytes> b) {
    return {.source_port = get<std::uint16_t, 0>(b),
            .destination_port = get<std::uint16_t, 2>(b),
            .length = get<std::uint16_t, 4>(b),
            .checksum = get<std::uint16_t, 6>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint16_t, 0>(b, source_port);
    put<std::uint16_t, 2>(b, destination_port);
    put<std::uint16_t, 4>(b, length);
    put<std::uint16_t, 6>(b, checksum);
  }
};
static_assert(round_trips(Udp{.source_port = 0xC123, .destination_port = 53, .length = 77, .checksum = 0xFEED}));

// The IP header of a UDP payload of this size, IPv4's with its checksum.
constexpr void encode_ipv4(const Flow& flow, std::size_t udp_payload_bytes, std::span<std::byte, Ipv4::kBytes> out,
                           Ipv4Ident ident = {}) {
  Ipv4{.traffic_class = flow.traffic_class,
       .total_length = static_cast<std::uint16_t>(Ipv4::kBytes + Udp::kBytes + udp_payload_bytes),
       .ident = ident,
       .hop_limit = flow.hop_limit,
       .source = flow.source,
       .destination = flow.destination}
      .encode(out);
  put<std::uint16_t, 10>(out, Ipv4::checksum_of(out));
}

constexpr void encode_ipv6(const Flow& flow, std::size_t udp_payload_bytes, std::span<std::byte, Ipv6::kBytes> out) {
  Ipv6{.traffic_class = flow.traffic_class,
       .flow_label = flow.flow_label,
       .payload_length = static_cast<std::uint16_t>(Udp::kBytes + udp_payload_bytes),
       .hop_limit = flow.hop_limit,
       .source = flow.source,
       .destination = flow.destination}
      .encode(out);
}

// What fits behind Ethernet, IPv4 and UDP in a 16-bit IP length: enough for every MTU of InfiniBand.
inline constexpr std::size_t kMaxUdpPayloadBytes = 0xFFFF - Ipv4::kBytes - Udp::kBytes;

}  // namespace weft::wire
