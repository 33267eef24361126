#include "wire/frame.h"

#include <array>
#include <cassert>
#include <cstring>

#include "base/canary.h"
#include "wire/datagram.h"
#include "wire/star.h"

namespace weft::wire {
namespace {

template <class Header>
std::span<std::byte, Header::kBytes> room_for(std::byte* at) {
  return std::span<std::byte, Header::kBytes>(at, Header::kBytes);
}

// An IP header that was accepted: what it says of the flow, and where UDP is.
struct Envelope {
  Flow flow{};
  Ipv4Ident ident{};
  std::span<const std::byte> inside{};
};

Refusal open_ipv4(std::span<const std::byte> packet, Envelope& out) {
  if (packet.size() < Ipv4::kBytes) return Refusal::bad_ip_header;
  const auto bytes = packet.first<Ipv4::kBytes>();
  const Ipv4 ip = Ipv4::decode(bytes);
  // RoCEv2 annex A17: no options.
  if (ip.header_words != Ipv4::kBytes / 4 || ip.checksum != Ipv4::checksum_of(bytes)) return Refusal::bad_ip_header;
  if (ip.total_length < Ipv4::kBytes || ip.total_length > packet.size()) return Refusal::bad_ip_length;
  if (ip.ident.is_fragment()) return Refusal::fragment;
  if (ip.protocol != kProtocolUdp) return Refusal::not_udp;
  out.flow = {
      .source = ip.source, .destination = ip.destination, .traffic_class = ip.traffic_class, .hop_limit = ip.hop_limit};
  out.ident = ip.ident;
  out.inside = packet.first(ip.total_length).subspan(Ipv4::kBytes);
  return Refusal::none;
}

Refusal open_ipv6(std::span<const std::byte> packet, Envelope& out) {
  if (packet.size() < Ipv6::kBytes) return Refusal::bad_ip_header;
  const Ipv6 ip = Ipv6::decode(packet.first<Ipv6::kBytes>());
  // RFC 6890: an IPv4-mapped address is never a source or destination on a wire. Accepted, it would pass for IPv4.
  if (ip.source.is_v4() || ip.destination.is_v4()) return Refusal::bad_ip_header;
  if (ip.payload_length > packet.size() - Ipv6::kBytes) return Refusal::bad_ip_length;
  if (ip.next_header == kProtocolIpv6Fragment) return Refusal::fragment;
  if (ip.next_header != kProtocolUdp) return Refusal::not_udp;
  // A length of 0 would be a jumbogram, whose length is in an option.
  if (ip.payload_length == 0) return Refusal::bad_ip_length;
  out.flow = {.source = ip.source,
              .destination = ip.destination,
              .flow_label = ip.flow_label,
              .traffic_class = ip.traffic_class,
              .hop_limit = ip.hop_limit};
  out.inside = packet.subspan(Ipv6::kBytes, ip.payload_length);
  return Refusal::none;
}

Refusal parse_udp(const Envelope& envelope, Packet& out, IcrcCheck check) {
  if (envelope.inside.size() < Udp::kBytes) return Refusal::bad_udp_length;
  const Udp udp = Udp::decode(envelope.inside.first<Udp::kBytes>());
  UdpPort to{};
  if (!is_udp_port(udp.destination_port, to)) return Refusal::not_roce_port;
  if (udp.length != envelope.inside.size()) return Refusal::bad_udp_length;
  out.flow = envelope.flow;
  out.flow.to = to;
  out.flow.source_port = udp.source_port;
  const auto datagram = envelope.inside.subspan(Udp::kBytes);
  if (datagram.size() < Bth::kBytes + kIcrcBytes) return Refusal::truncated;
  const bool verify = check == IcrcCheck::verify && !canary(Canary::icrc_ignored);
  if (verify && !icrc_matches(out.flow, datagram, envelope.ident)) return Refusal::bad_icrc;
  return parse(datagram, out);
}

}  // namespace

// Into exactly as much room as it takes, which the headers' encoder wants more of.
std::size_t encode_datagram(Headers headers, std::span<const std::byte> payload, const Flow& flow,
                            std::span<std::byte> out, Ipv4Ident ident) {
  struct Piece {
    const std::byte* data;
    std::size_t bytes;
  };
  if (payload.size() > kMaxUdpPayloadBytes - kMaxHeaderBytes - kIcrcBytes - 3) return 0;
  const std::size_t bytes = header_bytes(headers) + payload.size() + pad_for(payload.size()) + kIcrcBytes;
  if (out.size() < bytes) return 0;
  headers.bth.pad = pad_for(payload.size());
  std::array<std::byte, kMaxHeaderBytes> encoded;
  const std::size_t written = encode_headers(headers, encoded);
  if (written == 0) return 0;
  std::memcpy(out.data(), encoded.data(), written);
  const Piece piece{payload.data(), payload.size()};
  encode_behind_headers(headers, std::span(&piece, payload.empty() ? 0 : 1), out.data() + written);
  seal_datagram(flow, out.first(bytes), ident);
  return bytes;
}

std::size_t encode_frame_headers(const Flow& flow, std::size_t udp_payload_bytes,
                                 std::span<std::byte, kMaxFrameHeaderBytes> out, const FrameOptions& options) {
  assert(flow.source.is_v4() == flow.destination.is_v4() && udp_payload_bytes <= kMaxUdpPayloadBytes);
  const bool v4 = flow.destination.is_v4();
  std::byte* at = out.data();
  Ethernet{.destination = options.destination, .source = options.source, .type = v4 ? kEtherTypeIpv4 : kEtherTypeIpv6}
      .encode(room_for<Ethernet>(at));
  at += Ethernet::kBytes;
  if (v4) {
    encode_ipv4(flow, udp_payload_bytes, room_for<Ipv4>(at), options.ident);
    at += Ipv4::kBytes;
  } else {
    encode_ipv6(flow, udp_payload_bytes, room_for<Ipv6>(at));
    at += Ipv6::kBytes;
  }
  Udp{.source_port = flow.source_port,
      .destination_port = number_of(flow.to),
      .length = static_cast<std::uint16_t>(Udp::kBytes + udp_payload_bytes)}
      .encode(room_for<Udp>(at));
  return static_cast<std::size_t>(at - out.data()) + Udp::kBytes;
}

std::size_t build_frame(const Flow& flow, std::span<const std::byte> udp_payload, std::span<std::byte> out,
                        const FrameOptions& options) {
  if (udp_payload.size() > kMaxUdpPayloadBytes) return 0;
  std::array<std::byte, kMaxFrameHeaderBytes> headers;
  const std::size_t header_bytes = encode_frame_headers(flow, udp_payload.size(), headers, options);
  if (out.size() < header_bytes + udp_payload.size()) return 0;
  std::memcpy(out.data(), headers.data(), header_bytes);
  copy_bytes(out.data() + header_bytes, udp_payload.data(), udp_payload.size());
  return header_bytes + udp_payload.size();
}

Refusal parse_ip(std::span<const std::byte> ip_packet, Packet& out, IcrcCheck check) {
  if (ip_packet.empty()) return Refusal::bad_ip_header;
  const unsigned version = std::to_integer<unsigned>(ip_packet[0]) >> 4;
  Envelope envelope;
  Refusal refusal = Refusal::bad_ip_header;
  if (version == 4) refusal = open_ipv4(ip_packet, envelope);
  if (version == 6) refusal = open_ipv6(ip_packet, envelope);
  return refusal == Refusal::none ? parse_udp(envelope, out, check) : refusal;
}

Refusal parse_frame(std::span<const std::byte> frame, Packet& out, IcrcCheck check) {
  if (frame.size() < Ethernet::kBytes) return Refusal::bad_ethernet;
  const Ethernet ethernet = Ethernet::decode(frame.first<Ethernet::kBytes>());
  if (ethernet.type != kEtherTypeIpv4 && ethernet.type != kEtherTypeIpv6) return Refusal::bad_ethernet;
  const auto inside = frame.subspan(Ethernet::kBytes);
  // Ethernet and IP must agree on what follows.
  const unsigned version = ethernet.type == kEtherTypeIpv4 ? 4 : 6;
  if (inside.empty() || std::to_integer<unsigned>(inside[0]) >> 4 != version) return Refusal::bad_ip_header;
  return parse_ip(inside, out, check);
}

}  // namespace weft::wire
