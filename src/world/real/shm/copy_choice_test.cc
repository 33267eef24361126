#include "world/real/shm/copy_choice.h"

#include <gtest/gtest.h>

namespace weft::real {
namespace {

using Way = CopyChoice::Way;

constexpr std::uint64_t kMessage = 64 * 1024;

// A sender that does what is wanted, and a machine on which a message costs the receiver so many ticks.
struct Machine {
  std::uint64_t ring = 100, one_copy = 100;
  std::uint32_t sender = 0;
  CopyChoice choice{};
  std::uint64_t messages = 0, copied_once = 0;

  void message() {
    const Way way = choice.wanted();
    ++messages;
    copied_once += way == Way::one_copy ? 1 : 0;
    choice.came(way, kMessage);
    if (choice.measures()) choice.took(way == Way::ring ? ring : one_copy, sender);
  }
  void run(std::uint64_t bytes) {
    for (std::uint64_t sent = 0; sent < bytes; sent += kMessage) message();
  }
  void decide() { run(3 * CopyChoice::kSamples * CopyChoice::kSample); }
};

// Bug: found by ring_fuzz, whose peer writes bursts without payloads. It divided by zero.
TEST(CopyChoice, NothingHasNoCost) {
  EXPECT_EQ(copy_cost(1000, 0), 0U);
  EXPECT_EQ(copy_cost(1000, kCostBytes), 1000U);
}

TEST(CopyChoice, WithoutTheKernelsLeaveThereIsOnlyTheRing) {
  Machine m{.ring = 1000, .one_copy = 1};
  m.run(2 * CopyChoice::kKept);
  EXPECT_EQ(m.copied_once, 0U);
  EXPECT_FALSE(m.choice.measures());
}

TEST(CopyChoice, TakesTheCheaperWay) {
  Machine slow_kernel{.ring = 100, .one_copy = 200}, fast_kernel{.ring = 200, .one_copy = 100};
  for (Machine* m : {&slow_kernel, &fast_kernel}) {
    m->choice.begin();
    m->decide();
    EXPECT_FALSE(m->choice.measures()) << "the trial is over";
  }
  EXPECT_EQ(slow_kernel.choice.wanted(), Way::ring);
  EXPECT_EQ(fast_kernel.choice.wanted(), Way::one_copy);
}

TEST(CopyChoice, InTheRingTheSlowerEndCounts) {
  Machine m{.ring = 90, .one_copy = 110, .sender = 150};
  m.choice.begin();
  m.decide();
  EXPECT_EQ(m.choice.wanted(), Way::one_copy);
}

TEST(CopyChoice, StaysWhereLittleIsToBeGained) {
  Machine m{.ring = 100, .one_copy = 97};
  m.choice.begin();
  m.decide();
  EXPECT_EQ(m.choice.wanted(), Way::ring);
}

TEST(CopyChoice, LooksAgainAndFollowsAMachineThatChanges) {
  Machine m{.ring = 100, .one_copy = 50};
  m.choice.begin();
  m.decide();
  ASSERT_EQ(m.choice.wanted(), Way::one_copy);
  m.one_copy = 300;
  m.run(2 * CopyChoice::kKept);
  EXPECT_EQ(m.choice.wanted(), Way::ring);
}

TEST(CopyChoice, TrialsOfTheWorseWayAreRare) {
  Machine m{.ring = 100, .one_copy = 200};
  m.choice.begin();
  m.run(8 * CopyChoice::kKept);
  EXPECT_GT(m.copied_once, 0U);
  EXPECT_LT(m.copied_once, m.messages / 100);
}

// A program that was stopped in the middle of one message, for as long as a thousand take.
TEST(CopyChoice, OneSampleThatTookForEverDecidesNothing) {
  Machine m{.ring = 100, .one_copy = 200};
  m.choice.begin();
  m.ring = 100'000;
  m.message();
  m.ring = 100;
  m.decide();
  EXPECT_EQ(m.choice.wanted(), Way::ring);
}

// The sender hears of the change a ring later: what is under way still comes the old way.
TEST(CopyChoice, WhatCameTheOldWayDoesNotCountForTheNewOne) {
  Machine m{.ring = 100, .one_copy = 50};
  m.choice.begin();
  while (m.choice.wanted() == Way::ring) m.message();
  for (int i = 0; i < 64; ++i) {
    m.choice.came(Way::ring, kMessage);
    EXPECT_FALSE(m.choice.took(1'000'000, 0));
  }
  m.decide();
  EXPECT_EQ(m.choice.wanted(), Way::one_copy);
}

}  // namespace
}  // namespace weft::real
