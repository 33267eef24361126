// RoCEv2, and StaR at its own ports, from UDP payload to meaning and back: BTH, extension headers, payload, pad, ICRC.
// The ICRC itself is wire/icrc.h's business; here its four bytes are only counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/packet.h"
#include "wire/refusal.h"

namespace weft::wire {

inline constexpr std::size_t kIcrcBytes = 4;
// The longest of all opcodes: StaR's towards the stateless side.
inline constexpr std::size_t kMaxHeaderBytes = kStarDownBytes;
// The CNP's place-holder for extension headers.
inline constexpr std::size_t kCnpReservedBytes = 16;

// Zero bytes after the payload, so that the ICRC stands at a multiple of four.
constexpr std::uint8_t pad_for(std::size_t payload_bytes) { return static_cast<std::uint8_t>(-payload_bytes & 3); }

// The UDP payload that a packet of this opcode and payload becomes.
constexpr std::size_t datagram_bytes(Opcode opcode, std::size_t payload_bytes) {
  return info(opcode).header_bytes + payload_bytes + pad_for(payload_bytes) + kIcrcBytes;
}

// Writes BTH and the opcode's extensions, or StaR's header and extension, and returns how many bytes they are
// (wire/star.h, header_bytes). The caller sets bth.pad. An opcode that is not known has no headers: nothing is written
// and 0 returned.
std::size_t encode_headers(const Headers& headers, std::span<std::byte, kMaxHeaderBytes> out);

// Any bytes that came to out.flow.to are a packet or a named refusal: truncated, bad_version, unknown_opcode, bad_pad,
// payload_not_allowed, in this order; what StaR's ports refuse is in wire/star.h. Writes out.headers.bth as soon as
// there are bytes for it (who refuses may want to say whom), the headers that the opcode has, and the payload without
// pad and ICRC; leaves out.flow and all other headers as they were.
[[nodiscard]] Refusal parse(std::span<const std::byte> udp_payload, Packet& out);

}  // namespace weft::wire
