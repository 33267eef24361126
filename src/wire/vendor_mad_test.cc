#include "wire/vendor_mad.h"

#include <array>
#include <random>

#include <gtest/gtest.h>

#include "wire/cm.h"

namespace weft::wire {
namespace {

using MadBytes = std::array<std::byte, kMadBytes>;

VendorMad question() {
  return {.transaction = 0x0102'0304'0506'0708, .versions = {1, 1}, .asker = Qpn(0x123456), .about = Qpn(0xABCDEF)};
}

MadBytes encoded_mad(const VendorMad& m) {
  MadBytes bytes;
  encode_vendor(m, bytes);
  return bytes;
}

Refusal refusal_of_mad(std::span<const std::byte> bytes) {
  VendorMad out;
  return parse_vendor(bytes, out);
}

TEST(VendorMad, QuestionsAndAnswersSurviveTheirWayThroughBytes) {
  VendorMad of_star = question();
  of_star.connections = 0x0123'4567;
  of_star.roles.bits = StarRoles::kStateful;
  of_star.calls = 9;
  for (const VendorMad& sent : {question(), of_star, answer_to(question(), {1, 1}), answer_to(question(), {0, 0}),
                                answer_to(of_star, {0, 0}, {StarRoles::kStateless})}) {
    VendorMad got;
    ASSERT_EQ(parse_vendor(encoded_mad(sent), got), Refusal::none);
    EXPECT_EQ(got, sent);
  }
}

TEST(VendorMad, OfAnyOtherSizeIsRefused) {
  const MadBytes bytes = encoded_mad(question());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(refusal_of_mad(std::span(bytes).first(size)), Refusal::mad_bad_size) << size;
  }
  std::array<std::byte, kMadBytes + 1> longer{};
  EXPECT_EQ(refusal_of_mad(longer), Refusal::mad_bad_size);
}

TEST(VendorMad, OfAnotherMakerClassVersionOrMethodIsRefused) {
  for (const std::size_t at : {0U, 1U, 2U, 3U, 16U, 17U, 37U, 38U, 39U, 40U, 47U}) {
    MadBytes wrong = encoded_mad(question());
    wrong[at] ^= std::byte{0x40};
    EXPECT_EQ(refusal_of_mad(wrong), Refusal::mad_not_weft) << at;
  }
}

TEST(VendorMad, IsNoConnectionManagersMessageAndTheOtherWayRound) {
  CmMessage cm;
  EXPECT_EQ(parse_cm(encoded_mad(question()), cm), Refusal::mad_not_cm);
  MadBytes bytes;
  encode_cm({.transaction = 1, .body = CmRtu{}}, bytes);
  EXPECT_EQ(refusal_of_mad(bytes), Refusal::mad_not_weft);
}

TEST(VendorMad, ThatEndsBeforeItBeginsIsRefused) {
  VendorMad m = question();
  m.versions = {3, 2};
  EXPECT_EQ(refusal_of_mad(encoded_mad(m)), Refusal::mad_bad_versions);
}

// Later versions may write there.
TEST(VendorMad, IgnoresWhatStandsBehindWhatItKnows) {
  MadBytes bytes = encoded_mad(question());
  for (std::size_t at = VendorMad::kBodyAt + VendorMad::kBodyBytes; at < bytes.size(); ++at)
    bytes[at] = std::byte{0xA5};
  VendorMad got;
  ASSERT_EQ(parse_vendor(bytes, got), Refusal::none);
  EXPECT_EQ(got, question());
}

TEST(VendorMad, AnyBytesAreAMessageOrARefusal) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    MadBytes bytes = encoded_mad(question());
    for (int flips = 0; flips < 4; ++flips) bytes[random() % 64] = static_cast<std::byte>(random());
    VendorMad got;
    const Refusal why = parse_vendor(bytes, got);
    EXPECT_TRUE(why != Refusal::none || got.versions.lowest <= got.versions.highest);
  }
}

TEST(DialectVersions, TheHighestThatBothSpeakWinsWhoeverAsks) {
  constexpr std::uint8_t kMost = 5;
  for (std::uint8_t a = 1; a <= kMost; ++a) {
    for (std::uint8_t b = a; b <= kMost; ++b) {
      for (std::uint8_t c = 1; c <= kMost; ++c) {
        for (std::uint8_t d = c; d <= kMost; ++d) {
          std::uint8_t expected = 0;
          for (std::uint8_t v = 1; v <= kMost; ++v) {
            if (a <= v && v <= b && c <= v && v <= d) expected = v;
          }
          EXPECT_EQ(common_version({a, b}, {c, d}), expected);
          EXPECT_EQ(common_version({c, d}, {a, b}), expected);
        }
      }
    }
  }
}

TEST(DialectVersions, OneThatSpeaksTwoToThreeSaysNoToOneThatSpeaksOne) {
  VendorMad from_new = question();
  from_new.versions = {2, 3};
  EXPECT_EQ(answer_to(from_new, {1, 1}).chosen, 0);
  EXPECT_EQ(answer_to(question(), {2, 3}).chosen, 0);
  EXPECT_EQ(answer_to(question(), {2, 3}).versions, (DialectVersions{2, 3}));
}

}  // namespace
}  // namespace weft::wire
