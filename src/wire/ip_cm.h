// How rdma_cm addresses a listener (IBA annex A11): the service identifier names port space and port, and the private
// data of a REQ or SIDR_REQ begins with both IP addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/types.h"

namespace weft::wire {

enum class PortSpace : std::uint16_t { ipoib = 0x0002, tcp = 0x0106, udp = 0x0111, ib = 0x013F };

constexpr std::uint64_t cm_service_id(PortSpace space, std::uint16_t port) {
  return std::uint64_t{static_cast<std::uint16_t>(space)} << 16 | port;
}
static_assert(cm_service_id(PortSpace::tcp, 7471) == 0x0106'1D2F);

struct IpCmHeader {
  static constexpr std::size_t kBytes = 36;

  std::uint8_t version = 0;     // of this header
  std::uint8_t ip_version = 4;  // 4 bits: 4, 6, or a peer's mistake
  std::uint16_t source_port = 0;
  Address source{}, destination{};  // IPv4-mapped when ip_version is 4
  friend constexpr bool operator==(const IpCmHeader&, const IpCmHeader&) = default;

  static constexpr IpCmHeader decode(std::span<const std::byte, kBytes> b) {
    IpCmHeader header{.version = get<std::uint8_t, 0>(b),
                      .ip_version = bits<4, 4>(get<std::uint8_t, 1>(b)),
                      .source_port = get<std::uint16_t, 2>(b),
                      .source = {get_array<4, 16, std::uint8_t>(b)},
                      .destination = {get_array<20, 16, std::uint8_t>(b)}};
    if (header.ip_version == 4) {
      header.source = mapped(header.source);
      header.destination = mapped(header.destination);
    }
    return header;
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint8_t, 0>(b, version);
    put_byte<1>(b, place_bits<4, 4>(ip_version));
    put<std::uint16_t, 2>(b, source_port);
    put_array<4>(b, ip_version == 4 ? bare(source).bytes : source.bytes);
    put_array<20>(b, ip_version == 4 ? bare(destination).bytes : destination.bytes);
  }

 private:
  // On the wire an IPv4 address is the last four of 16 bytes, the others zero.
  static constexpr Address mapped(const Address& a) {
    return Address::v4(a.bytes[12], a.bytes[13], a.bytes[14], a.bytes[15]);
  }
  static constexpr Address bare(Address a) {
    for (std::size_t i = 0; i < 12; ++i) a.bytes[i] = 0;
    return a;
  }
};
static_assert(round_trips(IpCmHeader{
    .source_port = 7471, .source = Address::v4(10, 0, 0, 1), .destination = Address::v4(10, 0, 0, 2)}));
static_assert(round_trips(IpCmHeader{
    .ip_version = 6, .source_port = 1, .source = {{0xFE, 0x80}}, .destination = {{0x20, 0x01, 0x0D, 0xB8}}}));

}  // namespace weft::wire
