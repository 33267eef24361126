#include "wire/star.h"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "wire/frame.h"

namespace weft::wire {
namespace {

constexpr Opcode kAll[] = {Opcode::star_rd,  Opcode::star_gd,  Opcode::star_cqep, Opcode::star_ea,
                           Opcode::star_rda, Opcode::star_gda, Opcode::star_wqep, Opcode::star_ea_up};

UdpPort port_of(Opcode opcode) { return is_to_stateless(opcode) ? UdpPort::stateless : UdpPort::stateful; }
UdpPort other(UdpPort port) { return port == UdpPort::stateless ? UdpPort::stateful : UdpPort::stateless; }

Flow flow_to(UdpPort port) {
  return {
      .source = Address::v4(10, 0, 0, 1), .destination = Address::v4(10, 0, 0, 2), .to = port, .source_port = 0xD00D};
}
Refusal parse_at(UdpPort port, std::span<const std::byte> bytes, Packet& out) {
  out.flow = flow_to(port);
  return parse(bytes, out);
}

Headers headers_of(Opcode opcode, std::size_t length = 16) {
  Headers h;
  h.bth.opcode = opcode;
  h.bth.destination = Qpn(0x12'3456);
  h.bth.psn = Psn(0x65'4321);
  h.bth.solicited = true;
  if (is_to_stateless(opcode)) {
    StarGuard g{
        {.key = Key(0xCAFE'F00D), .rights = 5, .epoch = 7, .length = 99, .base = 0x1111'2222'3333'4444}, 12345, 0xBEEF};
    for (std::size_t i = 0; i < g.capability.mac.size(); ++i) g.capability.mac[i] = static_cast<std::uint8_t>(i + 1);
    StarView::set_guard(h, g);
  } else {
    StarView::set_answer(h, {Refusal::out_of_bounds, 0xABCD'EF01});
  }
  h.reth.address = 0x0102'0304'0506'0708;
  h.reth.length = static_cast<std::uint32_t>(length);
  StarView::set_opt(h, StarOpt::atomic);
  StarView::set_lane(h, 0x5A);
  return h;
}

std::vector<std::byte> encoded(Opcode opcode, std::size_t payload_bytes) {
  std::vector<std::byte> payload(payload_bytes, std::byte{0x77}), out(4096);
  const Headers h = headers_of(opcode, opcode == Opcode::star_gd ? 16 : payload_bytes);
  out.resize(encode_datagram(h, payload, flow_to(port_of(opcode)), out));
  return out;
}

std::size_t payload_bytes_of(Opcode opcode) { return opcode == Opcode::star_gd ? 0 : 16; }

TEST(StarWire, HasAHeaderOf20BytesAndSevenTypes) {
  EXPECT_EQ(StarHeader::kBytes, 20U);
  EXPECT_EQ(kStarTypes, 7U);
  EXPECT_EQ(encoded(Opcode::star_rd, 16).size(), 20U + StarGuard::kBytes + 16 + 4);
  EXPECT_EQ(encoded(Opcode::star_rda, 0).size(), 20U + StarAnswer::kBytes + 4);
}

TEST(StarWire, EveryPacketSurvivesItsWayThroughBytes) {
  for (const Opcode opcode : kAll) {
    const std::vector<std::byte> bytes = encoded(opcode, payload_bytes_of(opcode));
    ASSERT_FALSE(bytes.empty());
    EXPECT_TRUE(icrc_matches(flow_to(port_of(opcode)), bytes));
    EXPECT_FALSE(icrc_matches(flow_to(other(port_of(opcode))), bytes)) << "the port is part of it";
    EXPECT_FALSE(icrc_matches(flow_to(UdpPort::roce), bytes));
    Packet p;
    ASSERT_EQ(parse_at(port_of(opcode), bytes, p), Refusal::none) << info(opcode).name;
    const Headers h = headers_of(opcode);
    EXPECT_EQ(p.headers.bth, h.bth);
    EXPECT_EQ(p.headers.reth.address, h.reth.address);
    EXPECT_EQ(p.headers.reth.length, 16U);
    EXPECT_EQ(StarView::opt(p.headers), StarOpt::atomic);
    EXPECT_EQ(StarView::lane(p.headers), 0x5A);
    if (is_to_stateless(opcode)) {
      EXPECT_EQ(StarView::guard(p.headers), StarView::guard(h));
    } else {
      EXPECT_EQ(StarView::answer(p.headers), StarView::answer(h));
    }
    EXPECT_EQ(p.payload.size(), payload_bytes_of(opcode));
  }
}

// The paper's own packet: X is 0, and nothing stands behind the header.
TEST(StarWire, APlainPacketHas20BytesAndSurvivesItsWay) {
  for (const Opcode opcode : kAll) {
    Headers h = headers_of(opcode);
    StarView::set_plain(h);
    EXPECT_EQ(header_bytes(h), 20U);
    const std::vector<std::byte> payload(payload_bytes_of(opcode), std::byte{0x77});
    std::vector<std::byte> bytes(4096);
    bytes.resize(encode_datagram(h, payload, flow_to(port_of(opcode)), bytes));
    EXPECT_EQ(bytes.size(), 20U + payload.size() + 4);
    EXPECT_TRUE(icrc_matches(flow_to(port_of(opcode)), bytes));
    Packet p;
    ASSERT_EQ(parse_at(port_of(opcode), bytes, p), Refusal::none) << info(opcode).name;
    EXPECT_TRUE(StarView::plain(p.headers));
    EXPECT_EQ(p.headers.bth, h.bth);
    EXPECT_EQ(p.headers.reth.address, h.reth.address);
    EXPECT_EQ(StarView::lane(p.headers), 0x5A);
    EXPECT_EQ(StarView::guard(p.headers).capability.mac, StarMac{}) << "nothing of an earlier packet";
    EXPECT_EQ(StarView::answer(p.headers).refusal, Refusal::none);
    EXPECT_EQ(p.payload.size(), payload.size());
  }
  EXPECT_EQ(header_bytes(headers_of(Opcode::star_rd)), 60U);
}

TEST(StarWire, ATypeAtTheWrongPortIsRefused) {
  for (const Opcode opcode : kAll) {
    if (opcode == Opcode::star_ea || opcode == Opcode::star_ea_up) continue;  // EA goes both ways
    Packet p;
    EXPECT_NE(parse_at(other(port_of(opcode)), encoded(opcode, 64), p), Refusal::none) << info(opcode).name;
    EXPECT_NE(parse_at(UdpPort::roce, encoded(opcode, 64), p), Refusal::none) << info(opcode).name;
  }
}

TEST(StarWire, EveryDamagedByteOfTheHeaderIsRefused) {
  const std::vector<std::byte> good = encoded(Opcode::star_rd, 16);
  for (std::size_t i = 0; i < StarHeader::kBytes; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> bad = good;
      bad[i] ^= static_cast<std::byte>(1U << bit);
      Packet p;
      EXPECT_EQ(parse_at(UdpPort::stateless, bad, p), Refusal::star_bad_checksum) << i << ' ' << bit;
    }
  }
}

TEST(StarWire, WhatIsCutShortOrTooLongIsRefused) {
  const std::vector<std::byte> good = encoded(Opcode::star_rd, 16);
  for (std::size_t size = 0; size < good.size(); ++size) {
    Packet p;
    EXPECT_NE(parse_at(UdpPort::stateless, std::span(good).first(size), p), Refusal::none) << size;
  }
  std::vector<std::byte> longer = good;
  longer.resize(longer.size() + 4);
  Packet p;
  EXPECT_EQ(parse_at(UdpPort::stateless, longer, p), Refusal::star_bad_length);
}

// A status would name a counter. Those that nobody knows name none.
TEST(StarWire, AnAnswerWithAStatusThatDoesNotExistIsRefused) {
  for (const Opcode opcode : {Opcode::star_rda, Opcode::star_gda, Opcode::star_ea_up, Opcode::star_wqep}) {
    std::vector<std::byte> bytes = encoded(opcode, payload_bytes_of(opcode));
    for (const unsigned status : {static_cast<unsigned>(Refusal::count_), 0xFFU}) {
      bytes[StarHeader::kBytes] = static_cast<std::byte>(status);
      Packet p;
      EXPECT_EQ(parse_at(UdpPort::stateful, bytes, p), Refusal::star_bad_status) << status;
    }
  }
}

TEST(StarWire, APayloadOfAnyLengthIsPaddedAndComesBackAsItWas) {
  for (std::size_t bytes = 0; bytes < 9; ++bytes) {
    const std::vector<std::byte> datagram = encoded(Opcode::star_gda, bytes);
    EXPECT_EQ(datagram.size() % 4, 0U);
    Packet p;
    ASSERT_EQ(parse_at(UdpPort::stateful, datagram, p), Refusal::none);
    EXPECT_EQ(p.payload.size(), bytes);
    EXPECT_EQ(p.headers.bth.pad, pad_for(bytes));
  }
}

// What steers bytes and what knows the packet must agree.
TEST(StarWire, TheLaneIsWhereTheFilterOfItsPortLooks) {
  for (const Opcode opcode : kAll) {
    const std::vector<std::byte> bytes = encoded(opcode, payload_bytes_of(opcode));
    const UdpPort port = port_of(opcode);
    const std::uint8_t lane = port == UdpPort::stateless ? 0x5A : lane_number(Qpn(0x12'3456));
    EXPECT_EQ(lane_number(port, bytes), lane);
    EXPECT_EQ(lane_number(flow_to(port), headers_of(opcode)), lane);
  }
}

TEST(StarWire, NoBthHasAnOpcodeOfIt) {
  for (const Opcode opcode : kAll) {
    EXPECT_FALSE(info(opcode).known());
    EXPECT_TRUE(is_star(opcode));
  }
}

}  // namespace
}  // namespace weft::wire
