#include "wire/flow_icrc.h"

#include <bit>

namespace weft::wire {
namespace {
constexpr std::array<std::byte, 3> kPad{};
}

const SegmentIcrc::Row& SegmentIcrc::fill(std::size_t udp_payload_bytes) {
  Row& row = rows_[udp_payload_bytes / 4 % kRows];
  const auto of_bit = ident_differences(udp_payload_bytes);
  row.bytes = udp_payload_bytes;
  row.of_segment[0] = 0;
  for (std::size_t i = 1; i < kSegments; ++i) {
    row.of_segment[i] = row.of_segment[i & (i - 1)] ^ of_bit[static_cast<std::size_t>(std::countr_zero(i))];
  }
  return row;
}

bool FlowIcrc::is_of_segment(const Flow& flow, std::uint32_t difference, std::size_t udp_payload_bytes) {
  if (!flow.destination.is_v4()) return false;
  if (difference == segments_.of(next_segment_, udp_payload_bytes)) [[likely]] {
    ++next_segment_;
    return true;
  }
  return is_of_ident(flow, difference, udp_payload_bytes);
}

std::uint32_t FlowIcrc::start_anew(const Flow& flow, std::uint16_t source_port, std::size_t udp_payload_bytes) {
  const std::uint32_t key = key_of(flow.to, source_port, udp_payload_bytes);
  Flow whole = flow;
  whole.source_port = source_port;
  const std::uint32_t icrc = icrc_begin(whole, udp_payload_bytes);
  place_of(key) = {.source = flow.source, .destination = flow.destination, .ports_and_bytes = key, .icrc = icrc};
  return icrc;
}

std::uint32_t FlowIcrc::long_icrc(std::uint32_t start, std::span<const std::byte> covered) {
  if (!kHasShortIcrc) return icrc_headers(start, covered);
  constexpr std::size_t kHead = 16;
  return icrc_extend(short_icrc(start, covered.first(kHead)), covered.subspan(kHead));
}

std::uint32_t FlowIcrc::of(const Flow& flow, std::uint16_t source_port, std::span<const std::byte> headers,
                           std::span<const std::span<const std::byte>> payload) {
  std::size_t size = 0;
  for (const auto& piece : payload) size += piece.size();
  const std::size_t pad = pad_for(size);
  std::uint32_t icrc = from_bth_on(start(flow, source_port, headers.size() + size + pad + kIcrcBytes), headers);
  for (const auto& piece : payload) icrc = icrc_extend(icrc, piece);
  return icrc_extend(icrc, std::span(kPad).first(pad));
}

}  // namespace weft::wire
