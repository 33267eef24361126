#include "nic/memory/recent_data.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

constexpr Time kNow = 1'000'000, kLater = kNow + 200'000;

RecentData::Name name(std::uint32_t psn, std::uint32_t qpn = 77, std::uint16_t incarnation = 1,
                      wire::Address from = wire::Address::v4(10, 0, 0, 1)) {
  return {from, {.destination = wire::Qpn(qpn), .psn = wire::Psn(psn)}, incarnation};
}

TEST(RecentData, KnowsWhatWasPlacedUntilItExpires) {
  RecentData recent(1024, 1);
  EXPECT_FALSE(recent.has(name(5), kNow));
  EXPECT_FALSE(recent.keep(name(5), kNow, kLater));
  EXPECT_TRUE(recent.has(name(5), kNow));
  EXPECT_TRUE(recent.has(name(5), kLater - 1));
  EXPECT_FALSE(recent.has(name(5), kLater));
}

// Whoever takes another packet for a copy loses its data.
TEST(RecentData, TakesNothingElseForIt) {
  RecentData recent(4, 1);  // they all stand in one set
  recent.keep(name(5), kNow, kLater);
  EXPECT_FALSE(recent.has(name(6), kNow));
  EXPECT_FALSE(recent.has(name(5, 78), kNow));
  EXPECT_FALSE(recent.has(name(5, 77, 2), kNow)) << "the same numbers, of the connection that came afterwards";
  EXPECT_FALSE(recent.has(name(5, 77, 1, wire::Address::v4(10, 0, 0, 2)), kNow));
}

TEST(RecentData, ForgetsWhatExpiresFirstWhenThereIsNoRoom) {
  RecentData recent(4, 1);
  for (std::uint32_t psn = 0; psn < 4; ++psn) EXPECT_FALSE(recent.keep(name(psn), kNow, kLater + psn));
  EXPECT_TRUE(recent.keep(name(4), kNow, kLater + 4));
  EXPECT_FALSE(recent.has(name(0), kNow));
  for (std::uint32_t psn = 1; psn < 5; ++psn) EXPECT_TRUE(recent.has(name(psn), kNow)) << psn;
  EXPECT_FALSE(recent.keep(name(9), kLater + 10, kLater + 20)) << "what has expired makes room without a loss";
}

TEST(RecentData, HasRoomForTheNewestOfAConnection) {
  RecentData recent(1024, 1);
  for (std::uint32_t psn = 0; psn < 5000; ++psn) recent.keep(name(psn), kNow + psn, kLater + psn);
  for (std::uint32_t psn = 5000 - 1024; psn < 5000; ++psn) EXPECT_TRUE(recent.has(name(psn), kNow + 5000)) << psn;
}

// Its numbers come again some day. What would be good for hours is not taken for a copy then.
TEST(RecentData, KnowsNothingForLong) {
  RecentData recent(1024, 1);
  recent.keep(name(5), kNow, kNow + 100 * RecentData::kLongest);
  EXPECT_TRUE(recent.has(name(5), kNow + RecentData::kLongest - 1));
  EXPECT_FALSE(recent.has(name(5), kNow + RecentData::kLongest));
}

}  // namespace
}  // namespace weft::nic
