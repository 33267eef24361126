// ICRCs of packets whose flows and lengths return: what the IP and UDP headers contribute is remembered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/short_icrc.h"

namespace weft::wire {

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
    return difference == 0 || is_of_ident(flow, difference, udp_payload.size());
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

  std::array<Start, kStarts> starts_{};
};

}  // namespace weft::wire
