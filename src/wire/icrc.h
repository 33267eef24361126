// The invariant CRC (IBA 7.8.1, RoCEv2 annex A17): everything in a packet that must not change on its way, from a
// stand-in for the local route header to the last pad byte. What routers may change is read as ones: traffic class and
// flow label, hop limit, both checksums, and the BTH byte with FECN and BECN.
//
// A value is the CRC of the bytes so far at every moment (ISA-L keeps the register inverted between calls), so there
// is nothing to finish.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/codec.h"
#include "wire/ip.h"
#include "wire/packet.h"

namespace weft::wire {

// Over IP and UDP headers. `udp_payload_bytes` counts from BTH to ICRC, both included.
[[nodiscard]] std::uint32_t icrc_begin(const Flow& flow, std::size_t udp_payload_bytes, Ipv4Ident ident = {});
// Over the encoded transport headers, BTH first.
[[nodiscard]] std::uint32_t icrc_headers(std::uint32_t crc, std::span<const std::byte> headers);
// Over payload and pad.
[[nodiscard]] std::uint32_t icrc_extend(std::uint32_t crc, std::span<const std::byte> bytes);

// All of it, the zero pad of the payload included.
[[nodiscard]] std::uint32_t icrc_of(const Flow& flow, std::span<const std::byte> headers,
                                    std::span<const std::byte> payload, Ipv4Ident ident = {});

// Is the ICRC at the end of this UDP payload right? False for anything shorter than BTH and ICRC.
[[nodiscard]] bool icrc_matches(const Flow& flow, std::span<const std::byte> udp_payload, Ipv4Ident ident = {});

// The same when the IPv4 identification is not known: a UDP socket does not show it. The CRC is linear, so a wrong
// identification leaves a difference of which only 2^16 are possible for a length; any other is damage. IPv6 has none.
[[nodiscard]] bool icrc_matches_any_ident(const Flow& flow, std::span<const std::byte> udp_payload);
// May this difference between two ICRCs of a UDP payload come from the identification alone?
[[nodiscard]] bool is_of_ident(const Flow& flow, std::uint32_t difference, std::size_t udp_payload_bytes);
// What an IPv4 identification other than 0 changes the ICRC of a UDP payload by. It is the exclusive or of what its
// bits change it by: out[i] is that of 1 << i.
inline constexpr std::size_t kIdentBits = 16;
[[nodiscard]] std::array<std::uint32_t, kIdentBits> ident_differences(std::size_t udp_payload_bytes);
// Room for BTH and ICRC, and not too long for UDP.
[[nodiscard]] constexpr bool has_icrc_size(std::span<const std::byte> udp_payload) {
  return udp_payload.size() >= Bth::kBytes + kIcrcBytes && udp_payload.size() <= kMaxUdpPayloadBytes;
}

// On the wire the least significant byte comes first, unlike everything else.
constexpr void store_icrc(std::span<std::byte, kIcrcBytes> out, std::uint32_t icrc) {
  for (std::size_t i = 0; i < kIcrcBytes; ++i) out[i] = static_cast<std::byte>(icrc >> (8 * i));
}
constexpr std::uint32_t load_icrc(std::span<const std::byte, kIcrcBytes> in) {
  std::uint32_t icrc = 0;
  for (std::size_t i = 0; i < kIcrcBytes; ++i) icrc |= std::to_integer<std::uint32_t>(in[i]) << (8 * i);
  return icrc;
}

}  // namespace weft::wire
