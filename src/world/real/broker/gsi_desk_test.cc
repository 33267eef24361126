// Anybody can send messages to QP1. What a stranger says costs others nothing.
#include "world/real/broker/gsi_desk.h"

#include <set>

#include <gtest/gtest.h>

namespace weft::real {
namespace {

constexpr std::uint8_t kLane = 3;
const wire::Address kOwn = wire::Address::v4(127, 0, 0, 1), kPeer = wire::Address::v4(10, 0, 0, 2);

wire::Address stranger(std::uint32_t nth) {
  return wire::Address::v4(10, 1, static_cast<std::uint8_t>(nth >> 8), static_cast<std::uint8_t>(nth));
}
constexpr std::uint32_t our_id(std::uint32_t nth) { return std::uint32_t{kLane} << 24 | nth; }

class Desk : public testing::Test {
 protected:
  GsiDesk::Decision say(const wire::Address& from, const wire::CmBody& body) {
    const wire::Flow flow{.source = from, .destination = kOwn, .source_port = wire::kRocePort};
    std::array<std::byte, wire::kMadBytes> mad{};
    wire::encode_cm({.transaction = 1, .body = body}, mad);
    const auto bytes = build_gsi(flow, 0, mad);
    return desk.judge(flow, {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()}, services,
                      present);
  }
  // A peer accepts a connection that our program has asked for.
  void accept(const wire::Address& from, std::uint32_t nth) {
    const auto d = say(from, wire::CmRep{.local_id = nth + 1, .remote_id = our_id(nth), .qpn = wire::Qpn(7)});
    ASSERT_EQ(d.lane_number, kLane) << "the program hears it";
  }
  // The program is killed: how many connections the peer hears the end of.
  std::size_t told(const wire::Address& peer) {
    std::size_t out = 0;
    for (const GsiDatagram& d : desk.last_words(kLane)) out += d.flow.destination == peer ? 1 : 0;
    return out;
  }

  Services services;
  GsiDesk desk;
  const GsiDesk::Present present{.is_there = [](std::uint8_t lane_number) { return lane_number == kLane; },
                                 .spoken = [](const auto&, auto) { return Spoken{}; }};
};

// A question is answered by the broker, an offer is for the lane alone: only it has the queue pair.
TEST_F(Desk, HandsOnOffersAndAnswersQuestions) {
  const wire::Flow flow{.source = kPeer, .destination = kOwn, .source_port = wire::kRocePort};
  const GsiDesk::Present with_load{.is_there = present.is_there,
                                   .spoken = [](const auto&, auto) { return Spoken{.connections = 5}; }};
  for (const bool offers : {false, true}) {
    std::array<std::byte, wire::kMadBytes> mad{};
    wire::VendorMad said{.transaction = 1, .about = wire::Qpn(std::uint32_t{kLane} << wire::kLaneShift)};
    if (offers) said.roles.bits = wire::StarRoles::kOffers;
    wire::encode_vendor(said, mad);
    const auto bytes = build_gsi(flow, 0, mad);
    const std::string_view text(static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size());
    const GsiDesk::Decision d = desk.judge(flow, text, services, with_load);
    EXPECT_EQ(d.lane_number, kLane);
    ASSERT_EQ(d.reply.has_value(), !offers);
    if (offers) continue;
    std::span<const std::byte> answer;
    wire::VendorMad heard;
    ASSERT_EQ(parse_gsi(d.reply->flow, d.reply->bytes, answer), Refusal::none);
    ASSERT_EQ(wire::parse_vendor(answer, heard), Refusal::none);
    EXPECT_EQ(heard.connections, 5U);
    EXPECT_EQ(heard.calls, wire::kCallVersion);
  }
}

// What is said of a connection that moves is its lane's to answer.
TEST_F(Desk, HandsOnMoves) {
  const wire::Flow flow{.source = kPeer, .destination = kOwn, .source_port = wire::kRocePort};
  std::array<std::byte, wire::kMadBytes> mad{};
  wire::encode_move({.kind = wire::MoveMad::Kind::cancel, .about = wire::Qpn(std::uint32_t{kLane} << wire::kLaneShift)},
                    1, mad);
  const auto bytes = build_gsi(flow, 0, mad);
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size());
  const GsiDesk::Decision d = desk.judge(flow, text, services, present);
  EXPECT_EQ(d.lane_number, kLane);
  EXPECT_FALSE(d.reply.has_value());
}

TEST_F(Desk, SaysGoodbyeForAKilledProgram) {
  for (std::uint32_t nth = 0; nth < 5; ++nth) accept(kPeer, nth);
  EXPECT_EQ(told(kPeer), 5U);
  EXPECT_EQ(told(kPeer), 0U) << "once";
}

// Bug: a stranger's acceptances of connections that nobody had asked for filled the table, and there was no room for
// others'.
TEST_F(Desk, HasRoomForAPeerHoweverManyAcceptancesAStrangerForges) {
  constexpr std::uint32_t kForged = 1U << 17;
  accept(kPeer, 0);
  for (std::uint32_t nth = 0; nth <= kForged; ++nth) accept(stranger(1), nth);
  accept(kPeer, 1);
  EXPECT_EQ(told(kPeer), 2U);
}

TEST_F(Desk, HasRoomForAPeerHoweverManyStrangersForge) {
  constexpr std::uint32_t kStrangers = 16, kForged = 10'000;
  accept(kPeer, 0);
  for (std::uint32_t who = 0; who < kStrangers; ++who) {
    for (std::uint32_t nth = 0; nth < kForged; ++nth) accept(stranger(who), nth);
  }
  accept(kPeer, 1);
  EXPECT_EQ(told(kPeer), 2U);
}

// Bug: a stranger that guessed the number of a connection could take it over, or end it, as far as this desk knew.
TEST_F(Desk, BelievesNobodyButThePeerAboutAConnection) {
  for (std::uint32_t nth = 0; nth < 4; ++nth) accept(kPeer, nth);
  accept(stranger(1), 0);
  (void)say(stranger(1), wire::CmRej{.local_id = 9, .remote_id = our_id(1)});
  (void)say(stranger(1), wire::CmDreq{.local_id = 9, .remote_id = our_id(2)});
  (void)say(stranger(1), wire::CmDrep{.local_id = 9, .remote_id = our_id(3)});
  EXPECT_EQ(told(kPeer), 4U);
}

TEST_F(Desk, ForgetsAConnectionThatItsPeerEnds) {
  accept(kPeer, 0);
  (void)say(kPeer, wire::CmDreq{.local_id = 1, .remote_id = our_id(0)});
  EXPECT_EQ(told(kPeer), 0U);
}

// Bug: with the 4097th request all that had asked were forgotten, and their connections with them.
TEST_F(Desk, RemembersARequestHoweverManyAStrangerSends) {
  constexpr std::uint16_t kSpace = 0x0106, kPort = 7174;
  ASSERT_TRUE(services.take(kLane, kSpace, {}, kPort));
  services.listen(kLane, kSpace, {}, kPort, true);
  const auto ask = [&](const wire::Address& from, std::uint32_t id) {
    wire::CmReq req;
    req.local_id = id;
    req.service_id = std::uint64_t{kSpace} << 16 | kPort;
    req.qpn = wire::Qpn(7);
    EXPECT_EQ(say(from, req).lane_number, kLane);
  };
  ask(kPeer, 1);
  for (std::uint32_t nth = 0; nth < 20'000; ++nth) ask(stranger(1), nth);
  (void)say(kPeer, wire::CmRtu{.local_id = 1, .remote_id = our_id(0)});
  EXPECT_EQ(told(kPeer), 1U);
}

}  // namespace
}  // namespace weft::real
