#include "frames.h"

#include <array>
#include <cassert>
#include <cstdint>

#include "wire/frame.h"

namespace weft::trust {
namespace {

constexpr auto kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? c >> 1 ^ 0xEDB8'8320U : c >> 1;
    table[i] = c;
  }
  return table;
}();

// Pointers: what a container calls for each byte would be traced.
WEFT_NOT_SANITIZED std::uint32_t crc32(std::uint32_t crc, const std::byte* bytes, std::size_t count) {
  const std::uint32_t* const table = kCrcTable.data();
  for (std::size_t i = 0; i < count; ++i) crc = crc >> 8 ^ table[(crc ^ static_cast<std::uint32_t>(bytes[i])) & 0xFF];
  return crc;
}

bool is_v6(const Bytes& frame) { return frame[12] == std::byte{0x86}; }

// What routers may change on the way counts as ones (IBA annex A17).
void mask_mutable(Bytes& frame, bool v6) {
  const auto ones = [&frame](std::size_t at, std::size_t count) {
    for (std::size_t i = 0; i < count && at + i < frame.size(); ++i) frame[at + i] = std::byte{0xFF};
  };
  if (v6) {
    frame[kIpAt] |= std::byte{0x0F};  // traffic class and flow label
    ones(kIpAt + 1, 3);
    ones(kIpAt + 7, 1);  // hop limit
  } else {
    ones(kIpAt + 1, 1);   // type of service
    ones(kIpAt + 8, 1);   // time to live
    ones(kIpAt + 10, 2);  // checksum
  }
  ones(udp_at(v6) + 6, 2);  // checksum
  ones(bth_at(v6) + 4, 1);  // FECN, BECN
}

}  // namespace

void seal_ip(Bytes& frame) {
  if (is_v6(frame)) return;
  frame[kIpAt + 10] = frame[kIpAt + 11] = std::byte{0};
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) {
    sum += std::to_integer<std::uint32_t>(frame[kIpAt + i]) << 8 | std::to_integer<std::uint32_t>(frame[kIpAt + i + 1]);
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  frame[kIpAt + 10] = static_cast<std::byte>(~sum >> 8);
  frame[kIpAt + 11] = static_cast<std::byte>(~sum);
}

void seal(Bytes& frame) {
  seal_ip(frame);
  const bool v6 = is_v6(frame);
  if (frame.size() < bth_at(v6) + 4) return;
  Bytes covered(frame.begin(), frame.end() - 4);
  mask_mutable(covered, v6);
  static constexpr std::array<std::byte, 8> kNoLrh{std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF},
                                                   std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}};
  std::uint32_t crc = crc32(0xFFFF'FFFFU, kNoLrh.data(), kNoLrh.size());
  crc = ~crc32(crc, covered.data() + kIpAt, covered.size() - kIpAt);
  for (std::size_t i = 0; i < 4; ++i) frame[frame.size() - 4 + i] = static_cast<std::byte>(crc >> (8 * i));
}

Bytes frame_around(std::span<const std::byte> udp_payload, const wire::Flow& flow) {
  Bytes frame(wire::kMaxFrameHeaderBytes + udp_payload.size());
  frame.resize(wire::build_frame(flow, udp_payload, frame));
  assert(!frame.empty());
  seal(frame);
  return frame;
}

Bytes frame_of(const Crafted& packet) {
  Bytes datagram(wire::datagram_bytes(packet.headers.bth.opcode, packet.payload.size()));
  const std::size_t bytes = wire::encode_datagram(packet.headers, packet.payload, packet.flow, datagram);
  assert(bytes == datagram.size());
  (void)bytes;
  return frame_around(datagram, packet.flow);
}

}  // namespace weft::trust
