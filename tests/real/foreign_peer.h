// A peer that is no Weft card: a socket at port 4791 of an address, which a test listens to and speaks through.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "support/patience.h"
#include "wire/codec.h"
#include "wire/icrc.h"
#include "wire/vendor_mad.h"
#include "world/real/broker/gsi.h"
#include "world/real/os/descriptor.h"
#include "world/real/os/socket_address.h"

namespace weft::real {

class ForeignPeer {
 public:
  struct Heard {
    wire::Flow flow{};
    std::vector<std::byte> bytes;
    wire::Packet packet{};
    std::optional<wire::VendorMad> mad;
  };

  explicit ForeignPeer(const wire::Address& address)
      : address_(address), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const SocketAddress name = socket_address(address, wire::kRocePort);
    EXPECT_EQ(bind(socket_.get(), &name.any, name.bytes()), 0);
  }

  [[nodiscard]] std::optional<Heard> hear(int milliseconds = kPatienceMilliseconds) {
    pollfd p{socket_.get(), POLLIN, 0};
    if (::poll(&p, 1, milliseconds) <= 0) return std::nullopt;
    Heard heard;
    heard.bytes.resize(65536);
    SocketAddress from{};
    socklen_t bytes = sizeof from;
    const ssize_t got = recvfrom(socket_.get(), heard.bytes.data(), heard.bytes.size(), 0, &from.any, &bytes);
    heard.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    heard.flow = {.source = wire_address(from), .destination = address_, .source_port = port_of(from)};
    heard.packet.flow = heard.flow;
    EXPECT_EQ(wire::parse(heard.bytes, heard.packet), Refusal::none);
    std::span<const std::byte> mad;
    wire::VendorMad parsed;
    if (parse_gsi(heard.flow, heard.bytes, mad) == Refusal::none && wire::parse_vendor(mad, parsed) == Refusal::none) {
      heard.mad = parsed;
    }
    return heard;
  }
  // The next that is no question: what the card says to this peer at last.
  [[nodiscard]] std::optional<Heard> hear_packet() {
    for (;;) {
      auto heard = hear();
      if (!heard || !heard->mad) return heard;
    }
  }

  // The next answer to a question of this peer's.
  [[nodiscard]] std::optional<Heard> hear_answer() {
    for (;;) {
      auto heard = hear();
      if (!heard || (heard->mad && heard->mad->is_answer)) return heard;
    }
  }

  void say(const wire::Address& to, const wire::VendorMad& mad) {
    std::array<std::byte, wire::kMadBytes> bytes{};
    wire::encode_vendor(mad, bytes);
    send(to, build_gsi(flow_to(to), 0, bytes));
  }
  // A packet of a connection. Its payload fills words, so that no pad is needed.
  void say(const wire::Address& to, const wire::Headers& headers, std::span<const std::byte> payload) {
    send(to, packet(to, headers, payload));
  }
  // The same, behind an ACK that stands in the same datagram, as local peers do it (wire/packed_datagram.h).
  void say_packed(const wire::Address& to, const wire::Headers& headers, std::span<const std::byte> payload) {
    wire::Headers ack;
    ack.bth.opcode = wire::Opcode::rc_ack;
    ack.bth.destination = headers.bth.destination;
    std::vector<std::byte> datagram = packet(to, ack, {});
    const std::vector<std::byte> second = packet(to, headers, payload);
    datagram.insert(datagram.end(), second.begin(), second.end());
    send(to, datagram);
  }

 private:
  [[nodiscard]] std::vector<std::byte> packet(const wire::Address& to, const wire::Headers& headers,
                                              std::span<const std::byte> payload) const {
    std::array<std::byte, wire::kMaxHeaderBytes> front{};
    const std::span<const std::byte> head(front.data(), wire::encode_headers(headers, front));
    std::array<std::byte, wire::kIcrcBytes> icrc{};
    wire::store_icrc(icrc, wire::icrc_of(flow_to(to), head, payload));
    std::vector<std::byte> datagram(head.begin(), head.end());
    datagram.insert(datagram.end(), payload.begin(), payload.end());
    datagram.insert(datagram.end(), icrc.begin(), icrc.end());
    return datagram;
  }
  [[nodiscard]] wire::Flow flow_to(const wire::Address& to) const {
    return {.source = address_, .destination = to, .source_port = wire::kRocePort};
  }
  void send(const wire::Address& to, std::span<const std::byte> datagram) {
    const SocketAddress name = socket_address(to, wire::kRocePort);
    EXPECT_EQ(sendto(socket_.get(), datagram.data(), datagram.size(), 0, &name.any, name.bytes()),
              static_cast<ssize_t>(datagram.size()));
  }

  wire::Address address_;
  Descriptor socket_;
};

}  // namespace weft::real
