#include "world/real/lane/role_watch.h"

#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

using host::StarRole;

constexpr std::uint32_t kBeyond = 1000;

TEST(RoleWatch, LooksAtConnectionsWhenTheirCountHasCrossedTheThreshold) {
  RoleWatch watch(kBeyond);
  watch.note(0, kBeyond);
  EXPECT_EQ(watch.next(), kNever);
  EXPECT_EQ(watch.wanted(StarRole::none), StarRole::none);
  watch.note(seconds(1), kBeyond + 1);
  EXPECT_EQ(watch.next(), seconds(1) + RoleWatch::kSettles);
  EXPECT_FALSE(watch.is_due(seconds(1)));
  EXPECT_TRUE(watch.is_due(seconds(2)));
  EXPECT_FALSE(watch.is_due(seconds(3))) << "once";
  for (const StarRole now : {StarRole::none, StarRole::stateful, StarRole::stateless}) {
    EXPECT_EQ(watch.wanted(now), StarRole::stateless);
  }
}

TEST(RoleWatch, LetsThemComeBackAtHalfOfIt) {
  RoleWatch watch(kBeyond);
  watch.note(0, kBeyond + 1);
  ASSERT_TRUE(watch.is_due(seconds(1)));
  watch.note(seconds(1), kBeyond / 2 + 1);
  EXPECT_EQ(watch.next(), kNever);
  EXPECT_EQ(watch.wanted(StarRole::stateless), StarRole::stateless);
  EXPECT_EQ(watch.wanted(StarRole::none), StarRole::none);
  watch.note(seconds(2), kBeyond / 2);
  EXPECT_TRUE(watch.is_due(seconds(3)));
  EXPECT_EQ(watch.wanted(StarRole::stateless), StarRole::none);
  EXPECT_EQ(watch.wanted(StarRole::stateful), StarRole::stateful) << "that is the other side's to change";
}

// Whatever a count between the two bounds does, no connection goes to and fro.
TEST(RoleWatch, MovesNobodyBackWhileTheCountSwings) {
  RoleWatch watch(kBeyond);
  StarRole role = StarRole::none;
  std::uint32_t moves = 0;
  for (int i = 0; i < 100; ++i) {
    const Time now = seconds(10 * i);
    watch.note(now, kBeyond + (i % 2 == 0 ? 1 : -400));
    if (!watch.is_due(now + seconds(1))) continue;
    moves += watch.wanted(role) != role;
    role = watch.wanted(role);
  }
  EXPECT_EQ(moves, 1U);
  EXPECT_EQ(role, StarRole::stateless);
}

// One that was made while the count was below is not forgotten when it is above again.
TEST(RoleWatch, LooksAgainWheneverTheCountCrossesTheThresholdUpwards) {
  RoleWatch watch(kBeyond);
  watch.note(0, kBeyond + 1);
  ASSERT_TRUE(watch.is_due(seconds(1)));
  watch.note(seconds(2), kBeyond - 1);
  EXPECT_EQ(watch.next(), kNever);
  watch.note(seconds(3), kBeyond + 1);
  EXPECT_TRUE(watch.is_due(seconds(4)));
}

TEST(RoleWatch, AsksWhoHasRefusedLaterAndLater) {
  RoleWatch watch(kBeyond);
  watch.note(0, kBeyond + 1);
  Time wait = RoleWatch::kFirstAgain, now = watch.next();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(watch.is_due(now));
    watch.looked(now, true);
    EXPECT_EQ(watch.next(), now + wait);
    now = watch.next();
    wait = std::min(2 * wait, RoleWatch::kLastAgain);
  }
  ASSERT_TRUE(watch.is_due(now));
  watch.looked(now, false);
  EXPECT_EQ(watch.next(), kNever);
}

TEST(RoleWatch, WithoutAThresholdNothingMoves) {
  RoleWatch watch(0);
  watch.note(0, ~0U);
  watch.note(1, 0);
  EXPECT_EQ(watch.next(), kNever);
  EXPECT_EQ(watch.wanted(StarRole::none), StarRole::none);
}

}  // namespace
}  // namespace weft::real
