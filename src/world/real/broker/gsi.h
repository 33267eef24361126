// Management datagrams to and from QP1, as UDP payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/codec.h"
#include "wire/mad.h"
#include "wire/packet.h"
#include "wire/refusal.h"

namespace weft::real {

inline constexpr std::size_t kGsiBytes = wire::Bth::kBytes + wire::Deth::kBytes + wire::kMadBytes + wire::kIcrcBytes;

[[nodiscard]] std::array<std::byte, kGsiBytes> build_gsi(const wire::Flow& flow, std::uint32_t psn,
                                                         std::span<const std::byte, wire::kMadBytes> mad);

// The management datagram in what has arrived for QP1, ICRC and all; or why it is none.
[[nodiscard]] Refusal parse_gsi(const wire::Flow& flow, std::span<const std::byte> udp_payload,
                                std::span<const std::byte>& mad);

}  // namespace weft::real
