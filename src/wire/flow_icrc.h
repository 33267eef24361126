// ICRCs of packets whose flows and lengths return: what the IP and UDP headers contribute is remembered.
//
// IPv4 identifications are 0 here. The kernel numbers the segments of one datagram 0, 1, 2, ..., so the sender adds
// what a segment's number changes (SegmentIcrc). A receiver that is shown no identification expects 0, or the one after
// that of the packet before; any other takes it longer to allow for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/short_icrc.h"

namespace weft::wire {

// What the number of a segment changes the ICRC of its packet by.
class SegmentIcrc {
 public:
  static constexpr std::size_t kSegments = 64;  // the kernel takes no more in one datagram

  [[nodiscard]] std::uint32_t of(std::size_t segment, std::size_t udp_payload_bytes) {
    const Row& row = rows_[udp_payload_bytes / 4 % kRows];
    if (row.bytes == udp_payload_bytes) [[likely]]
      return row.of_segment[segment % kSegments];
    return fill(udp_payload_bytes).of_segment[segment % kSegments];
  }

 private:
  static constexpr std::size_t kRows = 8;
  struct Row {
    std::size_t bytes = 0;
    std::array<std::uint32_t, kSegments> of_segment{};
  };
  const Row& fill(std::size_t udp_payload_bytes);

  std::array<Row, kRows> rows_{};
};

class FlowIcrc {
 public:
  // The ICRC. `covered` is all from the BTH to the last byte of padding. The port is an argument because a socket's may
  // differ from what the flow says.
  [[nodiscard]] std::uint32_t of(const Flow& flow, std::uint16_t source_port, std::span<const std::byte> covered) {
    return from_bth_on(start(flow, source_port, covered.size() + kIcrcBytes), covered);
  }
  // The same when the payload lies in pieces; padding is added.
  [[nodiscard]] std::uint32_t of(const Flow& flow, std::uint16_t source_port, std::span<const std::byte> headers,
                                 std::span<const std::span<const std::byte>> payload);
  // Puts it behind everything else of a datagram.
  void seal(const Flow& flow, std::uint16_t source_port, std::span<std::byte> datagram) {
    store_icrc(datagram.last<kIcrcBytes>(), of(flow, source_port, datagram.first(datagram.size() - kIcrcBytes)));
  }
  // As icrc_matches_any_ident(). What is not a multiple of four bytes long is no packet (wire/codec.h).
  [[nodiscard]] bool matches_any_ident(const Flow& flow, std::span<const std::byte> udp_payload) {
    if (!has_icrc_size(udp_payload) || udp_payload.size() % 4 != 0) [[unlikely]]
      return false;
    const std::uint32_t icrc = of(flow, flow.source_port, udp_payload.first(udp_payload.size() - kIcrcBytes));
    const std::uint32_t difference = icrc ^ load_icrc(udp_payload.last<kIcrcBytes>());
    if (difference == 0) [[likely]] {
      next_segment_ = 1;
      return true;
    }
    return is_of_segment(flow, difference, udp_payload.size());
  }

 private:
  struct Start {
    Address source{}, destination{};
    std::uint32_t ports_and_bytes = 0;  // of the UDP payload; no packet has none
    std::uint32_t icrc = 0;
  };
  static constexpr std::size_t kStarts = 64;
  static constexpr std::size_t kShort = 256;  // what is longer is quicker in the library

  // A payload is a multiple of four bytes long: the destination port fits below.
  [[nodiscard]] static std::uint32_t key_of(UdpPort to, std::uint16_t source_port, std::size_t udp_payload_bytes) {
    return std::uint32_t{source_port} << 16 | static_cast<std::uint32_t>(udp_payload_bytes) |
           static_cast<std::uint32_t>(to);
  }
  [[nodiscard]] Start& place_of(std::uint32_t key) { return starts_[(key >> 2 ^ key >> 16) % kStarts]; }
  [[nodiscard]] std::uint32_t start(const Flow& flow, std::uint16_t source_port, std::size_t udp_payload_bytes) {
    const std::uint32_t key = key_of(flow.to, source_port, udp_payload_bytes);
    const Start& s = place_of(key);
    const bool known = s.ports_and_bytes == key && s.source == flow.source && s.destination == flow.destination;
    if (known) [[likely]]
      return s.icrc;
    return start_anew(flow, source_port, udp_payload_bytes);
  }
  [[nodiscard]] static std::uint32_t from_bth_on(std::uint32_t start, std::span<const std::byte> covered) {
    if (covered.size() <= kShort && kHasShortIcrc) [[likely]]
      return short_icrc(start, covered);
    return long_icrc(start, covered);
  }
  [[nodiscard]] std::uint32_t start_anew(const Flow& flow, std::uint16_t source_port, std::size_t udp_payload_bytes);
  [[nodiscard]] static std::uint32_t long_icrc(std::uint32_t start, std::span<const std::byte> covered);
  [[nodiscard]] bool is_of_segment(const Flow& flow, std::uint32_t difference, std::size_t udp_payload_bytes);

  std::array<Start, kStarts> starts_{};
  SegmentIcrc segments_;
  std::size_t next_segment_ = 0;
};

}  // namespace weft::wire
