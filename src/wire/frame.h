// Whole Ethernet frames: what a packet socket, a capture file or a simulated cable carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/codec.h"
#include "wire/icrc.h"
#include "wire/ip.h"

namespace weft::wire {

inline constexpr std::size_t kMaxFrameHeaderBytes = Ethernet::kBytes + Ipv6::kBytes + Udp::kBytes;

// What a frame says that a Flow does not.
struct FrameOptions {
  Mac source{{0x02, 0, 0, 0, 0, 0x01}}, destination{{0x02, 0, 0, 0, 0, 0x02}};  // locally administered
  Ipv4Ident ident{};
};

enum class IcrcCheck : std::uint8_t { verify, skip };

// The UDP payload of a packet: headers, payload, pad, ICRC (wire/datagram.h), with bth.pad as the payload needs it.
// Returns its bytes, or 0 when `out` is too small or the opcode unknown.
[[nodiscard]] std::size_t encode_datagram(Headers headers, std::span<const std::byte> payload, const Flow& flow,
                                          std::span<std::byte> out, Ipv4Ident ident = {});

// Ethernet, IP and UDP headers for a UDP payload of this size; returns their bytes.
std::size_t encode_frame_headers(const Flow& flow, std::size_t udp_payload_bytes,
                                 std::span<std::byte, kMaxFrameHeaderBytes> out, const FrameOptions& options = {});

// The frame around a UDP payload; returns its bytes, or 0 when `out` is too small.
[[nodiscard]] std::size_t build_frame(const Flow& flow, std::span<const std::byte> udp_payload,
                                      std::span<std::byte> out, const FrameOptions& options = {});

// Any bytes are a packet or a named refusal: first the envelope (bad_ethernet, bad_ip_header, bad_ip_length, fragment,
// not_udp, not_roce_port, bad_udp_length), then bad_icrc, so that what the network garbled is counted as that, then
// what parse() refuses. Bytes behind the IP packet are Ethernet's own padding and ignored. The UDP checksum is not
// looked at: the ICRC covers all that it covers. Whether the addresses are ours is the card's question.
[[nodiscard]] Refusal parse_frame(std::span<const std::byte> frame, Packet& out, IcrcCheck check = IcrcCheck::verify);
// The same from the IP header on.
[[nodiscard]] Refusal parse_ip(std::span<const std::byte> ip_packet, Packet& out, IcrcCheck check = IcrcCheck::verify);

}  // namespace weft::wire
