#include "world/real/udp/udp_sender.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

#include "base/room.h"
#include "nic/srnic/burst.h"
#include "wire/datagram.h"
#include "wire/packed_datagram.h"
#include "world/real/os/plain_calls.h"
#include "world/real/settings/address_text.h"
#include "world/real/settings/addresses.h"
#include "world/real/udp/roce_socket.h"

namespace weft::real {
namespace {

constexpr int kUdpSegment = 103;  // linux/udp.h
constexpr int kPatience = 20;     // milliseconds: a network card that takes no more for so long loses packets

constexpr std::uint8_t kOthers = 8;  // datagrams of another traffic class after which a socket takes it for its own

bool is_v4(const UdpRoute& route) { return route.to.any.sa_family == AF_INET; }

template <class Value>
std::size_t add_control(msghdr& header, std::size_t used, int level, int type, Value value) {
  auto* c = static_cast<cmsghdr*>(static_cast<void*>(static_cast<char*>(header.msg_control) + used));
  c->cmsg_level = level;
  c->cmsg_type = type;
  c->cmsg_len = CMSG_LEN(sizeof value);
  std::memcpy(CMSG_DATA(c), &value, sizeof value);
  return used + CMSG_SPACE(sizeof value);
}

}  // namespace

UdpSender::UdpSender() : arena_(new std::byte[kArena]) {}

void UdpSender::make_room(std::size_t parts, std::size_t arena) {
  const bool full = message_count_ + held_count_ + 1 > kMessages || held_count_ == kHeld ||
                    part_count_ + held_count_ + parts > kParts || arena_used_ + arena > kArena;
  if (full) flush();
}

UdpSender::Pending& UdpSender::message_for(UdpRoute& route, std::uint8_t traffic_class, std::uint32_t bytes,
                                           bool tells_its_end) {
  if (message_count_ > 0) {
    Pending& last = messages_[message_count_ - 1];
    const bool follows = route.merge && bytes <= route.fits && !last.closed && last.route == &route &&
                         last.traffic_class == traffic_class && last.bytes + bytes <= kMaxDatagram;
    if (follows && (last.joined || (bytes <= last.segment && last.segments < kMaxSegments))) {
      last.closed = last.joined ? !tells_its_end : bytes < last.segment;
      last.bytes += bytes;
      ++last.segments;
      return last;
    }
  }
  Pending& fresh = messages_[message_count_++];
  fresh = {.route = &route,
           .bytes = bytes,
           .segment = bytes,
           .segments = 1,
           .first_part = static_cast<std::uint32_t>(part_count_),
           .parts = 0,
           .traffic_class = traffic_class,
           .closed = false,
           .joined = route.wide && tells_its_end && bytes > wire::kWholePayload};
  return fresh;
}

void UdpSender::append(Pending& message, const std::byte* data, std::size_t bytes) {
  if (message.parts > 0) {
    iovec& last = parts_[part_count_ - 1];
    if (static_cast<std::byte*>(last.iov_base) + last.iov_len == data) {
      last.iov_len += bytes;
      return;
    }
  }
  parts_[part_count_++] = {const_cast<std::byte*>(data), bytes};
  ++message.parts;
}

void UdpSender::append_packet(UdpRoute& route, std::uint8_t traffic_class, std::byte* data, std::uint32_t bytes,
                              bool tells_its_end) {
  Pending& message = message_for(route, traffic_class, bytes, tells_its_end);
  if (const std::uint32_t change = change_by_number(route, message, bytes); change != 0) {
    const std::span<std::byte, wire::kIcrcBytes> icrc(data + bytes - wire::kIcrcBytes, wire::kIcrcBytes);
    wire::store_icrc(icrc, wire::load_icrc(icrc) ^ change);
  }
  append(message, data, bytes);
}

// Packets of one message, as nic/srnic/burst.h has them: all are as long as the path MTU, but for the last.
void UdpSender::add_burst(UdpRoute& route, const nic::OutPacket& burst) {
  const wire::OpcodeInfo& info = wire::info(burst.headers.bth.opcode);
  const std::uint32_t mtu = std::bit_ceil((burst.payload_bytes + burst.packets - 1) / burst.packets);
  nic::OutPacket one = burst;
  one.packets = 1;
  wire::Bth& bth = one.headers.bth;
  std::array<nic::Fragment, nic::kMaxSges> pieces;
  const nic::Fragment* piece = burst.payload.data();
  std::uint32_t used = 0;  // bytes of this one
  for (std::uint32_t i = 0; i < burst.packets; ++i) {
    const bool last = i + 1 == burst.packets;
    one.payload_bytes = last ? burst.payload_bytes - i * mtu : mtu;
    std::size_t count = 0;
    for (std::uint32_t left = one.payload_bytes; left > 0;) {
      const std::uint32_t bytes = std::min(piece->bytes - used, left);
      if (bytes > 0) pieces[count++] = {piece->data + used, bytes};
      left -= bytes;
      used += bytes;
      if (used == piece->bytes) {
        ++piece;
        used = 0;
      }
    }
    one.payload = {pieces.data(), count};
    bth.opcode = nic::opcode_at(burst.headers.bth.opcode, info.starts() && i == 0, info.ends() && last);
    bth.psn = burst.headers.bth.psn.plus(i);
    bth.pad = last ? burst.headers.bth.pad : 0;
    bth.ack_request = last && burst.headers.bth.ack_request;
    bth.solicited = last && burst.headers.bth.solicited;
    add(route, one);
    one.headers.sequence = one.headers.sequence.plus(1);
    if (info.target) one.headers.reth.address += mtu;
  }
}

void UdpSender::add(UdpRoute& route, const nic::OutPacket& p) {
  if (p.packets > 1) return add_burst(route, p);
  if (p.payload_bytes > (p.passing ? kPassing : kCopied)) return add_large(route, p);
  if (plain_.packets == 0 || arena_used_ + kSmall > kArena) make_room(1, kSmall);
  std::byte* const begin = arena_.get() + arena_used_;
  const std::span<std::byte> datagram(begin, wire::encode_datagram(p.headers, p.payload, begin));
  icrc_.seal(p.flow, route.source_port, datagram);
  const auto bytes = static_cast<std::uint32_t>(datagram.size());
  arena_used_ += bytes;
  const Held packet{&route, begin, bytes, p.flow.traffic_class};
  const bool owed = route.merge && !wire::info(p.headers.bth.opcode).payload;  // not a message that is empty
  if (goes_plainly(route, packet, owed)) return;
  end_plain();
  line_up(route, packet, owed);
}

// What is small lies in the arena in the order in which it came.
bool UdpSender::goes_plainly(UdpRoute& route, const Held& packet, bool owed) {
  if (packet.traffic_class != route.traffic_class) return false;
  if (plain_.packets == 0) {
    if (!route.connected || message_count_ + held_count_ != 0) return false;
    plain_ = {&route, packet.data, packet.bytes, 1, !owed};
    return true;
  }
  if (plain_.ended || plain_.route != &route || !route.joins || plain_.packets + 1 == kHeld) return false;
  plain_.bytes += packet.bytes;
  ++plain_.packets;
  plain_.ended = !owed;
  return true;
}

void UdpSender::line_up(UdpRoute& route, const Held& packet, bool owed) {
  if (owed) {
    held_[held_count_++] = packet;
  } else {
    append_packet(route, packet.traffic_class, packet.data, packet.bytes, false);
  }
}

void UdpSender::end_plain() {
  if (plain_.packets == 0) return;
  const Plain plain = std::exchange(plain_, {});
  const std::uint8_t traffic_class = plain.route->traffic_class;
  if (plain.packets == 1)
    return line_up(*plain.route, {plain.route, plain.begin, plain.bytes, traffic_class}, !plain.ended);
  std::uint32_t left = plain.packets;
  wire::unpack({plain.begin, plain.bytes}, [&](std::span<const std::byte> packet) {
    const bool owed = --left > 0 || !plain.ended;
    std::byte* const data = plain.begin + (packet.data() - plain.begin);
    line_up(*plain.route, {plain.route, data, static_cast<std::uint32_t>(packet.size()), traffic_class}, owed);
  });
}

void UdpSender::add_large(UdpRoute& route, const nic::OutPacket& p) {
  end_plain();
  make_room(p.payload.size() + 2, kSmall);
  std::byte* const header = arena_.get() + arena_used_;
  const std::size_t header_bytes =
      wire::encode_headers(p.headers, std::span<std::byte, wire::kMaxHeaderBytes>(header, wire::kMaxHeaderBytes));
  const std::span<std::byte> trailer(header + header_bytes, wire::encode_trailer(p.headers, header + header_bytes));
  const auto bytes = static_cast<std::uint32_t>(header_bytes + p.payload_bytes + trailer.size());
  Pending& message = message_for(route, p.flow.traffic_class, bytes, p.payload_bytes == wire::kWholePayload);
  append(message, header, header_bytes);
  Room<std::span<const std::byte>, nic::kMaxSges + 1> pieces;
  std::size_t count = 0;
  for (const nic::Fragment& piece : p.payload) {
    append(message, piece.data, piece.bytes);
    pieces.set(count++, {piece.data, piece.bytes});
  }
  const std::uint32_t icrc = icrc_.of(p.flow, route.source_port, {header, header_bytes}, pieces.first(count));
  wire::store_icrc(trailer.last<wire::kIcrcBytes>(), icrc ^ change_by_number(route, message, bytes));
  append(message, trailer.data(), trailer.size());
  arena_used_ += header_bytes + trailer.size();
}

void UdpSender::add(UdpRoute& route, const wire::Flow& flow, std::span<const std::byte> datagram) {
  end_plain();
  make_room(1, datagram.size());
  std::byte* at = arena_.get() + arena_used_;
  std::memcpy(at, datagram.data(), datagram.size());
  arena_used_ += datagram.size();
  append_packet(route, flow.traffic_class, at, static_cast<std::uint32_t>(datagram.size()), false);
}

// A control message costs the kernel a search for the way, even from a connected socket. Such a socket is only ours,
// and is told the traffic class that most datagrams have; only when none waits that was to leave with the old one.
bool UdpSender::says_by_itself(UdpRoute& route, std::uint8_t traffic_class, bool first) {
  if (route.traffic_class == traffic_class) {
    route.others = 0;
    return true;
  }
  if (route.others < kOthers) ++route.others;
  if (!route.connected || !first || route.others < kOthers) return false;
  const int value = traffic_class;
  const bool v4 = is_v4(route);
  if (setsockopt(route.socket, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, &value, sizeof value) != 0) {
    return false;
  }
  route.traffic_class = traffic_class;
  route.others = 0;
  return true;
}

void UdpSender::fill(mmsghdr& out, std::size_t index) {
  const Pending& m = messages_[index];
  msghdr& h = out.msg_hdr;
  h = {};
  if (!m.route->connected) {
    h.msg_name = const_cast<sockaddr*>(&m.route->to.any);
    h.msg_namelen = m.route->to.bytes();
  }
  h.msg_iov = &parts_[m.first_part];
  h.msg_iovlen = m.parts;
  const bool says_class = !says_by_itself(*m.route, m.traffic_class, index == 0);
  const bool in_segments = m.segments > 1 && !m.joined;
  if (!in_segments && !says_class) return;
  h.msg_control = controls_[index].bytes.data();
  std::size_t used = 0;
  if (in_segments) used = add_control(h, used, IPPROTO_UDP, kUdpSegment, static_cast<std::uint16_t>(m.segment));
  if (says_class) {
    const bool v4 = is_v4(*m.route);
    used = add_control(h, used, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, int{m.traffic_class});
  }
  h.msg_controllen = used;
}

void UdpSender::send(std::size_t first, std::size_t count) {
  const int socket = messages_[first].route->socket;
  while (count > 0) {
    const long sent = count == 1 ? (send_one(socket, headers_[first].msg_hdr) >= 0 ? 1 : -1)
                                 : send_many(socket, &headers_[first], static_cast<unsigned>(count));
    ++calls_;
    if (sent > 0) {
      first += static_cast<std::size_t>(sent);
      count -= static_cast<std::size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == ENOBUFS) {
      pollfd p{socket, POLLOUT, 0};
      if (::poll(&p, 1, kPatience) > 0) continue;
    }
    if (errno == EMSGSIZE && left_in_fragments(first)) {
      ++first;
      --count;
      continue;
    }
    ++failed_;  // this one cannot be sent: no route, too long, memory gone. To the card it is lost.
    ++first;
    --count;
  }
}

// A router on the way takes less than our own device, and has told the kernel; or the program has chosen a larger path
// MTU than the device has. The path MTU of a connection cannot be changed while it runs, so the kernel is allowed to
// take these packets apart: the other side's puts them together. It is slow, and cards of silicon take no fragments.
bool UdpSender::left_in_fragments(std::size_t index) {
  const Pending& m = messages_[index];
  UdpRoute& route = *m.route;
  if (route.connected || m.joined) return false;  // a local peer
  note_short_way(route, m.segment);
  msghdr one = headers_[index].msg_hdr;
  one.msg_control = nullptr;  // neither segments nor, for these, a traffic class
  one.msg_controllen = 0;
  let_fragment(route.socket, route.to.any.sa_family, true);
  iovec* part = &parts_[m.first_part];
  for (std::uint32_t rest = m.bytes; rest > 0;) {
    std::uint32_t room = std::min(m.segment, rest);
    rest -= room;
    std::array<iovec, nic::kMaxSges + 3> pieces{};
    one.msg_iov = pieces.data();
    for (one.msg_iovlen = 0; room > 0; ++one.msg_iovlen) {
      const auto bytes = static_cast<std::uint32_t>(std::min<std::size_t>(part->iov_len, room));
      pieces[one.msg_iovlen] = {part->iov_base, bytes};
      room -= bytes;
      part->iov_base = static_cast<std::byte*>(part->iov_base) + bytes;
      part->iov_len -= bytes;
      part += part->iov_len == 0 ? 1 : 0;
    }
    ++calls_;
    const bool sent = send_one(route.socket, one) >= 0;
    ++(sent ? fragmented_ : failed_);
  }
  let_fragment(route.socket, route.to.any.sa_family, false);
  return true;
}

void UdpSender::note_short_way(UdpRoute& route, std::uint32_t refused_bytes) {
  if (route.fits != ~0U) return;
  const std::uint32_t mtu = path_mtu(route.to), around = is_v4(route) ? 28 : 48;  // IP and UDP headers
  route.fits = std::min(refused_bytes - 1, mtu > around ? mtu - around : refused_bytes - 1);
  const wire::Address address = wire_address(route.to);
  if (std::exchange(told_of_, address) == address) return;
  fmt::print(stderr,
             "weft: packets of {} bytes do not fit the way to {}, which takes {}: the kernel sends them in fragments, "
             "and that is slow; a path MTU of {} would fit\n",
             refused_bytes + around, text_of(address), mtu, largest_roce_mtu(mtu));
}

// The smallest go last, each behind a larger one if it can: a shorter segment ends a datagram.
void UdpSender::add_held() {
  for (std::size_t i = 0; i < held_count_; ++i) {
    const Held& h = held_[i];
    append_packet(*h.route, h.traffic_class, h.data, h.bytes, true);
  }
  held_count_ = 0;
}

bool UdpSender::left_plainly() {
  if (plain_.packets == 0) return false;
  ++calls_;
  if (send_plainly(plain_.route->socket, plain_.begin, plain_.bytes) < 0) {
    end_plain();
    return false;
  }
  plain_ = {};
  arena_used_ = 0;
  return true;
}

void UdpSender::flush() {
  if (left_plainly()) return;
  add_held();
  for (std::size_t i = 0; i < message_count_; ++i) fill(headers_[i], i);
  for (std::size_t i = 0; i < message_count_;) {
    std::size_t same = 1;
    while (i + same < message_count_ && messages_[i + same].route->socket == messages_[i].route->socket) ++same;
    send(i, same);
    i += same;
  }
  message_count_ = part_count_ = arena_used_ = 0;
}

}  // namespace weft::real
