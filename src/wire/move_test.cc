#include "wire/move.h"

#include <array>

#include <gtest/gtest.h>

namespace weft::wire {
namespace {

using MadBytes = std::array<std::byte, kMadBytes>;

MoveMad commit() {
  return {.kind = MoveMad::Kind::commit,
          .target = {Dialect::star, MoveTarget::Asker::stateless},
          .numbers = {.sends = 0x8000'0001, .receives = 0xFFFF'FFFF, .psn = Psn(0xABCDEF)},
          .generation = 0x0102'0304,
          .from = Qpn(0x123456),
          .about = Qpn(0xFEDCBA),
          .connections = 10'001};
}
MadBytes encoded_move(const MoveMad& m) {
  MadBytes bytes;
  encode_move(m, 77, bytes);
  return bytes;
}
Refusal refusal_of_move(std::span<const std::byte> bytes) {
  MoveMad out;
  return parse_move(bytes, out);
}

TEST(MoveMad, SurvivesItsWayThroughBytes) {
  for (std::uint8_t kind = 0; kind < static_cast<std::uint8_t>(MoveMad::Kind::count_); ++kind) {
    MoveMad sent = commit(), got;
    sent.kind = static_cast<MoveMad::Kind>(kind);
    if (kind % 2 == 0) sent.target = {Dialect::srnic, MoveTarget::Asker::neither};
    ASSERT_EQ(parse_move(encoded_move(sent), got), Refusal::none);
    EXPECT_EQ(got, sent);
  }
}

TEST(MoveMad, OfAnyOtherSizeMakerClassVersionMethodOrAttributeIsRefused) {
  const MadBytes bytes = encoded_move(commit());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(refusal_of_move(std::span(bytes).first(size)), Refusal::mad_bad_size) << size;
  }
  for (const std::size_t at : {0U, 1U, 2U, 3U, 16U, 17U, 37U, 38U, 39U, 40U, 47U}) {
    MadBytes wrong = bytes;
    wrong[at] ^= std::byte{0x40};
    EXPECT_EQ(refusal_of_move(wrong), Refusal::mad_not_weft) << at;
  }
}

TEST(MoveMad, ThatNobodySaysIsRefused) {
  const auto with = [](std::size_t at, std::uint8_t value) {
    MadBytes bytes = encoded_move(commit());
    bytes[VendorMad::kBodyAt + at] = std::byte{value};
    return refusal_of_move(bytes);
  };
  EXPECT_EQ(with(8, static_cast<std::uint8_t>(MoveMad::Kind::count_)), Refusal::mad_not_weft) << "no such kind";
  EXPECT_EQ(with(9, 4), Refusal::mad_not_weft) << "no such dialect";
  EXPECT_EQ(with(9, static_cast<std::uint8_t>(Dialect::undecided)), Refusal::mad_not_weft);
  EXPECT_EQ(with(9, static_cast<std::uint8_t>(Dialect::roce)), Refusal::mad_not_weft) << "roce has no roles";
  EXPECT_EQ(with(10, 0), Refusal::mad_not_weft) << "StaR without roles";
  EXPECT_EQ(with(10, 3), Refusal::mad_not_weft) << "no such role";
  EXPECT_EQ(with(11, kDialectVersions.highest + 1), Refusal::mad_bad_versions);
}

TEST(MoveMad, IsNoQuestionOfADialectAndTheOtherWayRound) {
  VendorMad question;
  EXPECT_EQ(parse_vendor(encoded_move(commit()), question), Refusal::mad_not_weft);
  MadBytes bytes;
  encode_vendor({.transaction = 1, .versions = kDialectVersions}, bytes);
  EXPECT_EQ(refusal_of_move(bytes), Refusal::mad_not_weft);
}

}  // namespace
}  // namespace weft::wire
