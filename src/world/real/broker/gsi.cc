#include "world/real/broker/gsi.h"

#include <algorithm>

#include "wire/datagram.h"

namespace weft::real {

std::array<std::byte, kGsiBytes> build_gsi(const wire::Flow& flow, std::uint32_t psn,
                                           std::span<const std::byte, wire::kMadBytes> mad) {
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::ud_send_only;
  headers.bth.destination = wire::kGsiQpn;
  headers.bth.psn = wire::Psn(psn);
  headers.deth = {.qkey = wire::kGsiQkey, .source = wire::kGsiQpn};
  struct Piece {
    const std::byte* data;
    std::size_t bytes;
  };
  std::array<std::byte, kGsiBytes + wire::kMaxHeaderBytes> datagram{};
  wire::encode_datagram(headers, std::array{Piece{mad.data(), mad.size()}}, datagram.data());
  std::array<std::byte, kGsiBytes> out{};
  std::copy_n(datagram.begin(), out.size(), out.begin());
  wire::seal_datagram(flow, out);
  return out;
}

Refusal parse_gsi(const wire::Flow& flow, std::span<const std::byte> udp_payload, std::span<const std::byte>& mad) {
  wire::Packet p;
  p.flow = flow;
  if (const Refusal why = wire::parse(udp_payload, p); why != Refusal::none) return why;
  if (!wire::icrc_matches_any_ident(flow, udp_payload)) return Refusal::bad_icrc;
  if (p.headers.bth.opcode != wire::Opcode::ud_send_only) return Refusal::wrong_service;
  if (p.headers.bth.destination != wire::kGsiQpn) return Refusal::no_such_qp;
  if (p.headers.deth.qkey != wire::kGsiQkey) return Refusal::bad_qkey;
  if (p.payload.size() != wire::kMadBytes) return Refusal::mad_bad_size;
  mad = p.payload.near();
  return Refusal::none;
}

}  // namespace weft::real
