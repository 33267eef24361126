#include "wire/star.h"

#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace weft::wire {
namespace {

constexpr Opcode kAll[] = {Opcode::star_rd,  Opcode::star_gd,  Opcode::star_cqep, Opcode::star_ea,
                           Opcode::star_rda, Opcode::star_gda, Opcode::star_wqep, Opcode::star_ea_up};

Flow test_flow() {
  return {.source = Address::v4(10, 0, 0, 1), .destination = Address::v4(10, 0, 0, 2), .source_port = 0xD00D};
}

Headers headers_of(Opcode opcode) {
  Headers h;
  h.bth.opcode = opcode;
  h.bth.destination = Qpn(0x12'3456);
  h.bth.psn = Psn(0x65'4321);
  h.bth.solicited = true;
  if (is_to_stateless(opcode)) {
    StarGuard g{{.key = Key(0xCAFE'F00D), .rights = 5, .epoch = 7, .length = 99, .base = 0x1111'2222'3333'4444}, 12345};
    for (std::size_t i = 0; i < g.capability.mac.size(); ++i) g.capability.mac[i] = static_cast<std::uint8_t>(i + 1);
    StarView::set_guard(h, g);
  } else {
    StarView::set_answer(h, {Refusal::out_of_bounds, 0xABCD'EF01});
  }
  h.reth.address = 0x0102'0304'0506'0708;
  h.reth.length = 16;
  StarView::set_opt(h, StarOpt::atomic);
  StarView::set_lane(h, 0x5A);
  return h;
}

std::vector<std::byte> encoded(Opcode opcode, std::size_t payload_bytes) {
  std::vector<std::byte> payload(payload_bytes, std::byte{0x77}), out(4096);
  out.resize(encode_star(headers_of(opcode), payload, test_flow(), out));
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
    EXPECT_TRUE(star_icrc_matches(test_flow(), bytes, is_to_stateless(opcode)));
    EXPECT_FALSE(star_icrc_matches(test_flow(), bytes, !is_to_stateless(opcode))) << "the port is part of it";
    Packet p;
    ASSERT_EQ(parse_star(bytes, is_to_stateless(opcode), p), Refusal::none) << info(opcode).name;
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

TEST(StarWire, ATypeAtTheWrongPortIsRefused) {
  for (const Opcode opcode : kAll) {
    if (opcode == Opcode::star_ea || opcode == Opcode::star_ea_up) continue;  // EA goes both ways
    Packet p;
    EXPECT_NE(parse_star(encoded(opcode, 64), !is_to_stateless(opcode), p), Refusal::none) << info(opcode).name;
  }
}

TEST(StarWire, EveryDamagedByteOfTheHeaderIsRefused) {
  const std::vector<std::byte> good = encoded(Opcode::star_rd, 16);
  for (std::size_t i = 0; i < StarHeader::kBytes; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> bad = good;
      bad[i] ^= static_cast<std::byte>(1U << bit);
      Packet p;
      EXPECT_EQ(parse_star(bad, true, p), Refusal::star_bad_checksum) << i << ' ' << bit;
      EXPECT_FALSE(star_icrc_matches(test_flow(), bad, true));
    }
  }
}

TEST(StarWire, WhatIsCutShortOrTooLongIsRefused) {
  const std::vector<std::byte> good = encoded(Opcode::star_rd, 16);
  for (std::size_t size = 0; size < good.size(); ++size) {
    Packet p;
    EXPECT_NE(parse_star(std::span(good).first(size), true, p), Refusal::none) << size;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  Packet p;
  EXPECT_EQ(parse_star(longer, true, p), Refusal::star_bad_length);
}

TEST(StarWire, NoBthHasAnOpcodeOfIt) {
  for (const Opcode opcode : kAll) {
    EXPECT_FALSE(info(opcode).known());
    EXPECT_TRUE(is_star(opcode));
  }
}

}  // namespace
}  // namespace weft::wire
