#include "wire/star.h"

#include <cstring>

#include "wire/codec.h"

namespace weft::wire {
namespace {

// By opcode from star_rd on. EA has two opcodes, one for each port.
constexpr StarType kTypes[] = {StarType::rd,  StarType::gd,  StarType::cqep, StarType::ea,
                               StarType::rda, StarType::gda, StarType::wqep, StarType::ea};
constexpr std::size_t index_of(Opcode o) {
  return static_cast<std::size_t>(o) - static_cast<std::size_t>(Opcode::star_rd);
}

// Which opcode a type is at one of the ports; false: it has no business there.
bool opcode_at(StarType type, bool to_stateless, Opcode& out) {
  const std::size_t first = to_stateless ? 0 : 4;
  for (std::size_t i = first; i < first + 4; ++i) {
    if (kTypes[i] != type) continue;
    out = static_cast<Opcode>(static_cast<std::size_t>(Opcode::star_rd) + i);
    return true;
  }
  return false;
}

}  // namespace

void StarView::set_guard(Headers& h, const StarGuard& g) {
  const Capability& c = g.capability;
  h.reth.key = c.key;
  h.atomic.key = Key(std::uint32_t{c.rights} | std::uint32_t{c.epoch} << 8 | std::uint32_t{g.incarnation} << 16);
  h.atomic.address = c.base;
  h.deth.qkey = Qkey(c.length);
  std::memcpy(&h.atomic.swap_add, c.mac.data(), sizeof h.atomic.swap_add);
  std::memcpy(&h.atomic.compare, c.mac.data() + sizeof h.atomic.swap_add, sizeof h.atomic.compare);
  h.immediate.value = g.expiry;
}

StarGuard StarView::guard(const Headers& h) {
  StarGuard g;
  Capability& c = g.capability;
  c.key = h.reth.key;
  c.rights = static_cast<std::uint8_t>(h.atomic.key.raw());
  c.epoch = static_cast<std::uint8_t>(h.atomic.key.raw() >> 8);
  g.incarnation = static_cast<std::uint16_t>(h.atomic.key.raw() >> 16);
  c.base = h.atomic.address;
  c.length = h.deth.qkey.raw();
  std::memcpy(c.mac.data(), &h.atomic.swap_add, sizeof h.atomic.swap_add);
  std::memcpy(c.mac.data() + sizeof h.atomic.swap_add, &h.atomic.compare, sizeof h.atomic.compare);
  g.expiry = h.immediate.value;
  return g;
}

std::size_t encode_star_headers(const Headers& h, std::span<std::byte> out) {
  StarHeader header{.type = kTypes[index_of(h.bth.opcode)],
                    .opt = StarView::opt(h),
                    .migrates = h.bth.solicited,
                    .answer = h.bth.ack_request,
                    .extended = !StarView::plain(h),
                    .lane = StarView::lane(h),
                    .qpn = h.bth.destination,
                    .psn = h.bth.psn,
                    .address = h.reth.address,
                    .length = static_cast<std::uint16_t>(h.reth.length)};
  header.checksum = header.checksum_of();
  header.encode(out.first<StarHeader::kBytes>());
  if (!header.extended) return StarHeader::kBytes;
  const auto extension = out.subspan<StarHeader::kBytes>();
  if (is_to_stateless(h.bth.opcode)) {
    StarView::guard(h).encode(extension.first<StarGuard::kBytes>());
    return kStarDownBytes;
  }
  StarView::answer(h).encode(extension.first<StarAnswer::kBytes>());
  return kStarUpBytes;
}

Refusal parse_star(std::span<const std::byte> udp_payload, Packet& out) {
  const bool to_stateless = out.flow.to == UdpPort::stateless;
  if (udp_payload.size() < StarHeader::kBytes + kIcrcBytes) return Refusal::truncated;
  const StarHeader header = StarHeader::decode(udp_payload.first<StarHeader::kBytes>());
  const std::size_t header_bytes = !header.extended ? StarHeader::kBytes : to_stateless ? kStarDownBytes : kStarUpBytes;
  if (udp_payload.size() < header_bytes + kIcrcBytes) return Refusal::truncated;
  Headers& h = out.headers;
  h.bth = Bth{};
  if (header.checksum != header.checksum_of()) return Refusal::star_bad_checksum;
  if (!opcode_at(header.type, to_stateless, h.bth.opcode)) return Refusal::unknown_opcode;
  const auto extension = udp_payload.subspan(StarHeader::kBytes);
  const std::size_t body = udp_payload.size() - header_bytes - kIcrcBytes;
  const bool asks = h.bth.opcode == Opcode::star_gd;
  const std::size_t payload = asks ? 0 : header.length;
  if (body != payload + pad_for(payload)) return Refusal::star_bad_length;
  h.bth.pad = pad_for(payload);
  h.bth.solicited = header.migrates;
  h.bth.ack_request = header.answer;
  h.bth.destination = header.qpn;
  h.bth.psn = header.psn;
  if (!header.extended) {
    to_stateless ? StarView::set_guard(h, {}) : StarView::set_answer(h, {});
  } else if (to_stateless) {
    StarView::set_guard(h, StarGuard::decode(extension.first<StarGuard::kBytes>()));
  } else {
    const StarAnswer answer = StarAnswer::decode(extension.first<StarAnswer::kBytes>());
    if (answer.refusal >= Refusal::count_) return Refusal::star_bad_status;
    StarView::set_answer(h, answer);
  }
  h.reth.address = header.address;
  h.reth.length = header.length;
  StarView::set_opt(h, header.opt);
  StarView::set_lane(h, header.lane);
  if (!header.extended) StarView::set_plain(h);
  out.payload = udp_payload.subspan(header_bytes, payload);
  return Refusal::none;
}

}  // namespace weft::wire
