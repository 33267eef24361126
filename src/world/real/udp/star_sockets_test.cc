// StaR's packets by UDP: ports and groups of their own, and payloads that the card writes over as soon as it has sent.
#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/frame.h"
#include "wire/star.h"
#include "world/real/udp/roce_socket.h"
#include "world/real/udp/udp_receiver.h"
#include "world/real/udp/udp_sender.h"

namespace weft::real {
namespace {

using wire::Opcode;
using wire::UdpPort;

const wire::Address kStarAddress = wire::Address::v4(127, 0, 4, 21);
constexpr std::uint8_t kLanes = 4;

wire::Headers headers_for(std::uint8_t lane_number, Opcode opcode, std::size_t payload) {
  wire::Headers h;
  h.bth.opcode = opcode;
  h.bth.pad = wire::pad_for(payload);
  h.reth.length = static_cast<std::uint32_t>(payload);
  // The QPN is always the stateful side's, whose lane is another one.
  const bool down = wire::is_to_stateless(opcode);
  h.bth.destination = wire::Qpn((down ? kLanes - 1U - lane_number : lane_number) << wire::kLaneShift | 0x1'5555);
  wire::StarView::set_lane(h, down ? lane_number : static_cast<std::uint8_t>(kLanes - 1 - lane_number));
  return h;
}

bool has_packet(int socket) {
  pollfd ready{socket, POLLIN, 0};
  std::array<std::byte, 128> bytes;
  return poll(&ready, 1, 0) > 0 && recv(socket, bytes.data(), bytes.size(), 0) > 0;
}

class StarSockets : public testing::TestWithParam<UdpPort> {
 protected:
  // By loopback it is there when it is sent.
  static void send(std::uint8_t lane_number) {
    const Opcode opcode = GetParam() == UdpPort::stateless ? Opcode::star_cqep : Opcode::star_wqep;
    std::array<std::byte, 256> bytes;
    const wire::Flow flow{.source = kStarAddress, .destination = kStarAddress, .to = GetParam()};
    const std::size_t size =
        wire::encode_datagram(headers_for(lane_number, opcode, 8), std::array<std::byte, 8>{}, flow, bytes);
    ASSERT_GT(size, 0U);
    const Descriptor from(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const SocketAddress to = socket_address(kStarAddress, number_of(GetParam()));
    ASSERT_EQ(sendto(from.get(), bytes.data(), size, 0, &to.any, to.bytes()), static_cast<ssize_t>(size));
  }
};

TEST_P(StarSockets, AreSteeredByTheLaneNumberAndAdmitNoOther) {
  EXPECT_TRUE(port_is_free(kStarAddress, GetParam()));
  std::vector<Descriptor> group;
  for (std::uint8_t lane = 0; lane < kLanes; ++lane)
    group.push_back(open_roce_socket(kStarAddress, GetParam()).value());
  EXPECT_FALSE(port_is_free(kStarAddress, GetParam()));
  for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
    send(lane);
    for (std::uint8_t other = 0; other < kLanes; ++other) {
      EXPECT_EQ(has_packet(group[other].get()), other == lane) << int{lane} << ' ' << int{other};
    }
    admit_lane(group[lane].get(), GetParam(), lane);
    send(lane);
    EXPECT_TRUE(has_packet(group[lane].get()));
    admit_lane(group[lane].get(), GetParam(), lane ^ 1);
    send(lane);
    EXPECT_FALSE(has_packet(group[lane].get()));
  }
}

INSTANTIATE_TEST_SUITE_P(Ports, StarSockets, testing::Values(UdpPort::stateless, UdpPort::stateful));

// ---- sending

class StarByUdp : public testing::Test {
 protected:
  StarByUdp() : in(open_roce_socket(kStarAddress, UdpPort::stateful).value()), out(::socket(AF_INET, SOCK_DGRAM, 0)) {
    route.to = socket_address(kStarAddress, wire::kStatefulPort);
    SocketAddress name = socket_address(kStarAddress, 0);
    socklen_t bytes = name.bytes();
    EXPECT_EQ(bind(out.get(), &name.any, bytes), 0);
    EXPECT_EQ(connect(out.get(), &route.to.any, bytes), 0);
    EXPECT_EQ(getsockname(out.get(), &name.any, &bytes), 0);
    route.socket = out.get();
    route.source_port = port_of(name);
    route.connected = route.merge = true;
  }
  void send_passing(std::byte what, std::uint32_t bytes) {
    scratch.fill(what);
    const nic::Fragment piece{scratch.data(), bytes};
    nic::OutPacket p{.flow = {.source = kStarAddress, .destination = kStarAddress, .to = UdpPort::stateful},
                     .headers = headers_for(0, Opcode::star_gda, bytes),
                     .payload = {&piece, 1}};
    p.payload_bytes = bytes;
    p.passing = true;
    sender.add(route, p);
  }

  Descriptor in, out;
  UdpRoute route;
  UdpSender sender;
  UdpReceiver receiver;
  std::array<std::byte, wire::kStarControlBytes> scratch{};
};

TEST_F(StarByUdp, WhatPassesLeavesAsItWasWhenItWasSaid) {
  constexpr std::array<std::uint32_t, 6> kSizes{1024, 8, 1024, 600, 31, 1000};
  for (std::size_t i = 0; i < kSizes.size(); ++i) send_passing(static_cast<std::byte>(i + 1), kSizes[i]);
  scratch.fill(std::byte{0});
  sender.flush();
  std::size_t count = 0;
  const auto check = [&](const wire::Flow& flow, std::span<const std::byte> datagram) {
    wire::Packet p;
    p.flow = flow;
    ASSERT_EQ(flow.to, UdpPort::stateful);
    ASSERT_EQ(wire::parse(datagram, p), Refusal::none);
    EXPECT_TRUE(wire::icrc_matches_any_ident(flow, datagram));
    ASSERT_EQ(p.payload.size(), kSizes.at(count));
    EXPECT_THAT(p.payload.near(), testing::Each(static_cast<std::byte>(count + 1)));
    ++count;
  };
  for (int looks = 0; looks < 20 && count < kSizes.size(); ++looks) {
    receiver.receive(in.get(), {kStarAddress, UdpPort::stateful}, check);
  }
  EXPECT_EQ(count, kSizes.size());
}

}  // namespace
}  // namespace weft::real
