// Who is hit, and by what: the injector without a wire. What the hits do is tested where they are carried out.
#include "world/faults.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weft::world {
namespace {

struct Tried {
  explicit Tried(std::string_view text, std::uint64_t seed = 1)
      : injector(FaultPlan::parse(text).plan.value(), Random(seed), world_count) {}
  Fate next(Time departs = 0) { return injector.judge(departs); }

  std::uint64_t world_count = 0;
  FaultInjector injector;
};

TEST(FaultInjector, AScriptHitsThePacketThatItNames) {
  Tried tried("drop=1,duplicate=2,delay=3,corrupt=4,mark=5");
  const Fate dropped = tried.next();
  EXPECT_TRUE(dropped.drop);
  EXPECT_EQ(dropped.reason, DropReason::script);
  EXPECT_TRUE(tried.next().duplicate);
  EXPECT_TRUE(tried.next().hold);
  EXPECT_TRUE(tried.next().corrupt);
  EXPECT_TRUE(tried.next().mark);
  const Fate free = tried.next();
  EXPECT_FALSE(free.drop || free.duplicate || free.hold || free.corrupt || free.mark);
  EXPECT_EQ(
      tried.injector.counters(),
      (FaultCounters{.offered = 6, .dropped_by_script = 1, .duplicated = 1, .held = 1, .corrupted = 1, .marked = 1}));
}

TEST(FaultInjector, EcnMarksItsShare) {
  Tried tried("ecn=25%");
  std::uint64_t marked = 0;
  for (int i = 0; i < 20'000; ++i) marked += tried.next().mark;
  EXPECT_NEAR(static_cast<double>(marked), 5'000, 300);
  EXPECT_EQ(tried.injector.counters().marked, marked);
}

TEST(FaultInjector, APacketThatIsLostIsNotCountedAsMarked) {
  Tried tried("loss=1,ecn=1");
  EXPECT_TRUE(tried.next().drop);
  EXPECT_EQ(tried.injector.counters(), (FaultCounters{.offered = 1, .lost = 1}));
}

// Marks are drawn last: a plan that gains them loses the same packets as before.
TEST(FaultInjector, WhatIsNotInThePlanCostsNoDraw) {
  Tried one("loss=0.3,duplication=0.2"), other("loss=0.3,duplication=0.2");
  for (int i = 0; i < 1'000; ++i) {
    const Fate a = one.next(), b = other.next(nanoseconds(i));
    ASSERT_EQ(a.drop, b.drop);
    ASSERT_EQ(a.duplicate, b.duplicate);
  }
}

TEST(FaultInjector, ABlackHoleHasABeginningAndAnEnd) {
  Tried tried("hole=10us..20us");
  EXPECT_FALSE(tried.next(microseconds(10) - 1).drop);
  EXPECT_TRUE(tried.next(microseconds(10)).drop);
  EXPECT_TRUE(tried.next(microseconds(20) - 1).drop);
  EXPECT_FALSE(tried.next(microseconds(20)).drop);
}

TEST(FaultInjector, CountsWithOthersWhenTheWorldCounts) {
  const FaultPlan plan = FaultPlan::parse("drop=2,count=world").plan.value();
  std::uint64_t world_count = 0;
  FaultInjector first(plan, Random(1), world_count), second(plan, Random(1), world_count);
  EXPECT_FALSE(first.judge(0).drop);
  EXPECT_TRUE(second.judge(0).drop);
}

TEST(FaultInjector, TheSeedDecides) {
  const auto fates = [](std::uint64_t seed) {
    Tried tried("loss=0.1,duplication=0.1,reordering=0.1,corruption=0.1,jitter=0.1,ecn=0.1", seed);
    std::vector<Time> all;
    for (int i = 0; i < 500; ++i) {
      const Fate v = tried.next();
      all.push_back(v.drop + v.duplicate * 2 + v.hold * 4 + v.corrupt * 8 + v.mark * 16 + v.late * 32);
    }
    return all;
  };
  EXPECT_EQ(fates(3), fates(3));
  EXPECT_NE(fates(3), fates(4));
}

}  // namespace
}  // namespace weft::world
