#include "wire/flow_icrc.h"

#include "wire/short_icrc.h"

namespace weft::wire {
namespace {

constexpr std::size_t kShort = 256;  // what is longer is quicker in the library
constexpr std::array<std::byte, 3> kPad{};

std::uint32_t from_bth_on(std::uint32_t start, std::span<const std::byte> covered) {
  if (!has_short_icrc()) return icrc_headers(start, covered);
  if (covered.size() <= kShort) return short_icrc(start, covered);
  constexpr std::size_t kHead = 16;
  return icrc_extend(short_icrc(start, covered.first(kHead)), covered.subspan(kHead));
}

}  // namespace

std::uint32_t FlowIcrc::of(const Flow& flow, std::span<const std::byte> covered) {
  return from_bth_on(start(flow, covered.size() + kIcrcBytes), covered);
}

std::uint32_t FlowIcrc::of(const Flow& flow, std::span<const std::byte> headers,
                           std::span<const std::span<const std::byte>> payload) {
  std::size_t size = 0;
  for (const auto& piece : payload) size += piece.size();
  const std::size_t pad = pad_for(size);
  std::uint32_t icrc = from_bth_on(start(flow, headers.size() + size + pad + kIcrcBytes), headers);
  for (const auto& piece : payload) icrc = icrc_extend(icrc, piece);
  return icrc_extend(icrc, std::span(kPad).first(pad));
}

bool FlowIcrc::matches_any_ident(const Flow& flow, std::span<const std::byte> udp_payload) {
  // What is not a multiple of four bytes long is no packet (wire/codec.h), and none of ours.
  if (!has_icrc_size(udp_payload) || udp_payload.size() % 4 != 0) return false;
  const std::uint32_t icrc = of(flow, udp_payload.first(udp_payload.size() - kIcrcBytes));
  const std::uint32_t difference = icrc ^ load_icrc(udp_payload.last<kIcrcBytes>());
  return difference == 0 || is_of_ident(flow, difference, udp_payload.size());
}

}  // namespace weft::wire
