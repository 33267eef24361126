// Packets as bytes, right or wrong: the frame of a packet, and the seal (IPv4 checksum and ICRC) that makes changed
// bytes credible. The CRC here is the textbook's, bit by bit, and shares nothing with the card's.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crafted.h"

namespace weft::trust {

using Bytes = std::vector<std::byte>;

// Where things stand in a frame without VLAN tags or IP options.
inline constexpr std::size_t kIpAt = 14;
constexpr std::size_t udp_at(bool v6) { return kIpAt + (v6 ? 40 : 20); }
constexpr std::size_t bth_at(bool v6) { return udp_at(v6) + 8; }

// The whole frame of a well-formed packet.
[[nodiscard]] Bytes frame_of(const Crafted& packet);
// A frame around any UDP payload whatever; its last four bytes become the right ICRC, where it has that many.
[[nodiscard]] Bytes frame_around(std::span<const std::byte> udp_payload, const wire::Flow& flow);
// Makes whatever the frame now says credible again. The ICRC is the frame's last four bytes.
void seal(Bytes& frame);
// Only the IPv4 checksum.
void seal_ip(Bytes& frame);

}  // namespace weft::trust
