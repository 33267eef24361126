// ICRCs of packets whose flows and lengths return: what the IP and UDP headers contribute is remembered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/icrc.h"
#include "wire/packet.h"

namespace weft::wire {

class FlowIcrc {
 public:
  // Of all that is covered from the BTH to the last byte of padding.
  [[nodiscard]] std::uint32_t of(const Flow& flow, std::span<const std::byte> covered);
  // The same when the payload lies in pieces; padding is added.
  [[nodiscard]] std::uint32_t of(const Flow& flow, std::span<const std::byte> headers,
                                 std::span<const std::span<const std::byte>> payload);
  // As icrc_matches_any_ident().
  [[nodiscard]] bool matches_any_ident(const Flow& flow, std::span<const std::byte> udp_payload);

 private:
  struct Start {
    Flow flow{};
    std::uint32_t bytes = 0;  // of the UDP payload; no packet has none
    std::uint32_t icrc = 0;
  };
  static constexpr std::size_t kStarts = 64;

  [[nodiscard]] std::uint32_t start(const Flow& flow, std::size_t udp_payload_bytes) {
    const std::size_t hash = udp_payload_bytes / 4 + flow.source_port + flow.source.bytes[15];
    Start& s = starts_[hash % kStarts];
    const bool known = s.bytes == udp_payload_bytes && s.flow.source_port == flow.source_port &&
                       s.flow.source == flow.source && s.flow.destination == flow.destination;
    if (!known) [[unlikely]]
      s = {.flow = flow,
           .bytes = static_cast<std::uint32_t>(udp_payload_bytes),
           .icrc = icrc_begin(flow, udp_payload_bytes)};
    return s.icrc;
  }

  std::array<Start, kStarts> starts_{};
};

}  // namespace weft::wire
