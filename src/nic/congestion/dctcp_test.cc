#include "nic/congestion/dctcp.h"

#include <gtest/gtest.h>

#include "nic/congestion/control.h"

namespace weft::nic {
namespace {

constexpr std::uint32_t kMost = 100;

Context started() {
  Context s;
  Dctcp::start(s, kMost);
  s.srnic.round.length = 50;  // are under way
  return s;
}

TEST(Dctcp, StartsWithTheWidestWindow) {
  Context s;
  Dctcp::start(s, kMost);
  EXPECT_EQ(Dctcp::window(s, kMost), kMost);
}

// RFC 8257, 3.3, with g = 1/16 and numbers worked by hand. 25 of 50 marked: alpha = 1/16 * 1/2 = 0.03125, and the
// window 100 * (1 - 0.03125 / 2) = 98.44. Then 98 of 98: alpha = 15/16 * 0.03125 + 1/16 = 0.0918, window 93.92.
TEST(Dctcp, ShrinksByHalfOfTheEstimatedShareOfMarkedPackets) {
  Context s = started();
  Dctcp::on_ack(s, kMost, 50, 25, 98);
  EXPECT_NEAR(s.marked_share / 65535.0, 0.03125, 0.0001);
  EXPECT_NEAR(s.window / 16.0, 98.44, 0.07);
  EXPECT_EQ(Dctcp::window(s, kMost), 98U);
  Dctcp::on_ack(s, kMost, 98, 98, 93);
  EXPECT_NEAR(s.marked_share / 65535.0, 0.0918, 0.0001);
  EXPECT_NEAR(s.window / 16.0, 93.92, 0.1);
}

// Without marks nothing is counted; the first mark begins a round.
TEST(Dctcp, BeginsToCountWithTheFirstMark) {
  Context s;
  Dctcp::start(s, kMost);
  for (int i = 0; i < 10; ++i) Dctcp::on_ack(s, kMost, 10, 0, 40);
  EXPECT_EQ(s.srnic.round.length, 0U);
  Dctcp::on_ack(s, kMost, 10, 5, 40);  // 40 are still under way: half of 10, and then of none of 40
  EXPECT_EQ(s.window, kMost * 16);
  Dctcp::on_ack(s, kMost, 40, 0, 40);
  EXPECT_NEAR(s.marked_share / 65535.0, 5.0 / 50 / 16, 0.0001);
  EXPECT_LT(s.window, kMost * 16);
}

TEST(Dctcp, ChangesOnceARoundTrip) {
  Context s = started();
  for (int i = 0; i < 49; ++i) Dctcp::on_ack(s, kMost, 1, 1, 50);
  EXPECT_EQ(s.window, kMost * 16);
  Dctcp::on_ack(s, kMost, 1, 0, 50);
  EXPECT_LT(s.window, kMost * 16);
  EXPECT_NEAR(s.marked_share / 65535.0, 49.0 / 50 / 16, 0.0001);
}

TEST(Dctcp, WidensByAPacketInARoundWithoutMarks) {
  Context s = started();
  Dctcp::on_ack(s, kMost, 50, 50, 50);
  const std::uint16_t narrow = s.window;
  Dctcp::on_ack(s, kMost, 50, 0, 50);
  EXPECT_EQ(s.window, narrow + 16);
  for (int i = 0; i < 50; ++i) Dctcp::on_ack(s, kMost, 50, 0, 50);
  EXPECT_EQ(Dctcp::window(s, kMost), kMost) << "and never beyond the widest";
}

// The estimate forgets old marks as fast as it learns of new ones: after n rounds (15/16)^n of it is left.
TEST(Dctcp, ForgetsOldMarks) {
  Context s = started();
  for (int i = 0; i < 200; ++i) Dctcp::on_ack(s, kMost, 50, 50, 50);
  EXPECT_NEAR(s.marked_share / 65535.0, 1, 0.001);
  for (int i = 0; i < 16; ++i) Dctcp::on_ack(s, kMost, 50, 0, 50);
  EXPECT_NEAR(s.marked_share / 65535.0, 0.356, 0.002);
}

TEST(Dctcp, NeverShrinksBelowTwoPackets) {
  Context s = started();
  for (int i = 0; i < 1000; ++i) Dctcp::on_ack(s, kMost, 50, 50, 50);
  EXPECT_EQ(Dctcp::window(s, kMost), 2U);
  for (int i = 0; i < 10; ++i) Dctcp::on_silence(s);
  EXPECT_EQ(Dctcp::window(s, kMost), 2U);
  Dctcp::start(s, 1);
  EXPECT_EQ(Dctcp::window(s, 1), 1U) << "unless it was never wider";
}

TEST(Dctcp, HalvesAfterSilence) {
  Context s = started();
  Dctcp::on_silence(s);
  EXPECT_EQ(Dctcp::window(s, kMost), kMost / 2);
}

// A peer may say that more were marked than arrived, or that some were and none arrived.
TEST(Dctcp, SurvivesNumbersThatCannotBe) {
  Context s = started();
  Dctcp::on_ack(s, kMost, 50, 0xFFFF, 50);
  EXPECT_NEAR(s.marked_share / 65535.0, 1.0 / 16, 0.0001);
  for (int i = 0; i < 100; ++i) Dctcp::on_ack(s, kMost, 0, 0xFFFF, 0);
  EXPECT_GE(Dctcp::window(s, kMost), 2U);
  Dctcp::on_ack(s, 4096, 0xFFFF'0000, 0, 0xFFFF'FFFF);
  EXPECT_GE(Dctcp::window(s, kMost), 2U);
}

TEST(NoCongestionControl, NeverChangesTheWindow) {
  Context s;
  with_congestion(CongestionControl::none, [&](auto cc) {
    cc.start(s, kMost);
    cc.on_ack(s, kMost, 50, 50, 50);
    cc.on_silence(s);
    EXPECT_EQ(cc.window(s, kMost), kMost);
  });
  EXPECT_FALSE(wants_marks(CongestionControl::none));
  EXPECT_TRUE(wants_marks(CongestionControl::dctcp));
}

}  // namespace
}  // namespace weft::nic
