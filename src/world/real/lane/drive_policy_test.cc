// Under a clock that the test turns.
#include "world/real/lane/drive_policy.h"

#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

using P = DrivePolicy;
using Look = P::Look;

// A policy whose program has polled until it drives.
void hand_over(P& policy) {
  while (!policy.on_poll()) continue;
  policy.hand_to_program();
}
// The program polls in vain, so often.
void wait(P& policy, std::uint32_t polls) {
  for (std::uint32_t n = 0; n < polls; ++n) (void)policy.look(false, true, true);
}

TEST(DrivePolicy, AProgramThatPollsSteadilyIsToDrive) {
  P policy;
  EXPECT_EQ(policy.driver(), Driver::thread);
  for (std::uint32_t n = 1; n < P::kPollsToDrive; ++n) EXPECT_FALSE(policy.on_poll()) << n;
  EXPECT_TRUE(policy.on_poll());
  policy.hand_to_program();
  EXPECT_FALSE(policy.on_poll()) << "it does already";
}

TEST(DrivePolicy, WhoWantsAnEventInBetweenPollsToSeeWhetherItMustSleep) {
  P policy;
  for (std::uint32_t n = 0; n < 10 * P::kPollsToDrive; ++n) {
    EXPECT_FALSE(policy.on_poll()) << n;
    EXPECT_FALSE(policy.on_armed()) << "the thread drives anyway";
  }
}

TEST(DrivePolicy, WhoWantsAnEventLeavesTheDrivingToTheThread) {
  P policy;
  hand_over(policy);
  EXPECT_TRUE(policy.on_armed());
  EXPECT_EQ(policy.driver(), Driver::thread);
}

TEST(DrivePolicy, MostPollsThatFindNothingLookAtMemoryOnly) {
  P policy;
  std::uint32_t further = 0;
  for (std::uint32_t n = 0; n < 10 * P::kQuietPolls; ++n)
    further += policy.look(false, true, true) != Look::memory_only;
  EXPECT_EQ(further, 10U);
}

TEST(DrivePolicy, WhatIsNotQuietIsLookedAtWithTheClock) {
  P policy;
  EXPECT_EQ(policy.look(false, false, true), Look::everything);
  EXPECT_EQ(policy.look(true, false, false), Look::everything) << "a ring whose packets need the time";
}

TEST(DrivePolicy, OneWhoWaitedGetsTheOldestRecordAlone) {
  P policy;
  hand_over(policy);
  EXPECT_EQ(policy.look(true, false, true), Look::without_clock) << "it has not waited";
  wait(policy, P::kWaited + 1);
  EXPECT_EQ(policy.look(true, false, true), Look::one_record);
  EXPECT_EQ(policy.look(true, false, true), Look::without_clock) << "and then it has not waited";
}

TEST(DrivePolicy, WhileTheThreadDrivesNobodyIsKnownToWait) {
  P policy;
  wait(policy, P::kWaited + 1);
  EXPECT_EQ(policy.look(true, false, true), Look::without_clock);
}

TEST(DrivePolicy, AStreamThroughARingIsLookedAtWithTheClockNowAndThen) {
  P policy;
  std::uint32_t with_clock = 0;
  for (std::uint32_t n = 0; n < 10 * P::kQuietPolls; ++n)
    with_clock += policy.look(true, false, true) == Look::everything;
  EXPECT_EQ(with_clock, 10U);
}

TEST(DrivePolicy, WhoFindsNothingForLongYieldsUntilSomethingComes) {
  P policy;
  for (std::uint32_t n = 0; n < P::kVainPolls; ++n) {
    EXPECT_FALSE(policy.yields());
    (void)policy.looked(false);
  }
  EXPECT_TRUE(policy.yields());
  std::uint32_t asks = 0;
  for (std::uint32_t n = 0; n < 4 * P::kVainPolls; ++n) asks += policy.looked(false);
  EXPECT_EQ(asks, 4U) << "now and then for new local peers";
  (void)policy.looked(true);
  EXPECT_FALSE(policy.yields());
}

TEST(DrivePolicy, PostsThatFollowEachOtherCloselyLeaveTogether) {
  P policy;
  hand_over(policy);
  EXPECT_FALSE(policy.on_post(true));
  EXPECT_FALSE(policy.defers(seconds(1))) << "the first";
  Time now = seconds(1);
  std::uint32_t deferred = 0;
  for (; policy.defers(now += P::kBurst / 2); ++deferred) policy.defer();
  EXPECT_EQ(deferred, P::kMaxDeferred - 1) << "but not for ever";
  policy.sends();
  EXPECT_TRUE(policy.defers(now + P::kBurst / 2));
  EXPECT_FALSE(policy.defers(now + 2 * P::kBurst)) << "the program has paused";
}

TEST(DrivePolicy, NothingIsDeferredWhileTheThreadDrives) {
  P policy;
  (void)policy.defers(seconds(1));
  EXPECT_FALSE(policy.defers(seconds(1)));
}

TEST(DrivePolicy, APostAfterAWaitLeavesAtOnce) {
  P policy;
  hand_over(policy);
  wait(policy, 2 * P::kWaited);
  EXPECT_TRUE(policy.on_post(true));
  EXPECT_FALSE(policy.on_post(true)) << "the next one has not waited";
  wait(policy, 2 * P::kWaited);
  EXPECT_FALSE(policy.on_post(false)) << "the time is needed here";
}

TEST(DrivePolicy, AnAcknowledgementWaitsForTheAnswerForSomePolls) {
  P policy;
  EXPECT_FALSE(policy.waits_for_answer(false, 1)) << "nothing came for the program";
  std::uint32_t polls = 0;
  for (bool seen = true; policy.waits_for_answer(seen, 1); seen = false) ++polls;
  EXPECT_EQ(polls, P::kAnswerPolls - 1);
}

TEST(DrivePolicy, ALongStreamIsAcknowledgedWithoutWaiting) {
  P policy;
  EXPECT_TRUE(policy.waits_for_answer(true, 100));
  EXPECT_FALSE(policy.waits_for_answer(true, 101 + P::kAnswerPackets));
}

TEST(DrivePolicy, AnAcknowledgementLeavesWithPostsThatWait) {
  P policy;
  policy.defer();
  EXPECT_FALSE(policy.waits_for_answer(true, 1));
}

TEST(DrivePolicy, TheThreadTakesOverFromAProgramThatDoesNothing) {
  P policy;
  hand_over(policy);
  policy.begin_ticks();
  EXPECT_EQ(policy.next_tick(0), P::kTick);
  EXPECT_TRUE(policy.on_tick().at_work) << "it has polled since";
  EXPECT_FALSE(policy.on_tick().at_work);
  EXPECT_TRUE(policy.take_from_program(seconds(5)));
  EXPECT_EQ(policy.driver(), Driver::thread);
}

TEST(DrivePolicy, NotFromOneThatPolledInTheLastMoment) {
  P policy;
  hand_over(policy);
  (void)policy.on_tick();
  EXPECT_FALSE(policy.on_tick().at_work);
  (void)policy.on_poll();
  EXPECT_FALSE(policy.take_from_program(seconds(5)));
  EXPECT_EQ(policy.driver(), Driver::program);
}

TEST(DrivePolicy, OneThatOnlyPostsIsHelped) {
  P policy;
  hand_over(policy);
  EXPECT_FALSE(policy.on_tick().help) << "it polls";
  (void)policy.on_post(false);
  const P::Tick tick = policy.on_tick();
  EXPECT_TRUE(tick.at_work);
  EXPECT_TRUE(tick.help);
}

TEST(DrivePolicy, OneThatPollsHasAMomentForWhatWaits) {
  P policy;
  hand_over(policy);
  policy.defer();
  EXPECT_FALSE(policy.on_tick().help);
  EXPECT_EQ(policy.next_tick(0), P::kMoment);
  const P::Tick tick = policy.on_tick();
  EXPECT_TRUE(tick.help) << "it has not polled again";
}

TEST(DrivePolicy, TheThreadIsWaryAfterAPacketThatTheProgramLeftToIt) {
  P policy;
  hand_over(policy);
  (void)policy.on_tick();
  ASSERT_TRUE(policy.take_from_program(seconds(5)));
  policy.heard(seconds(5) + P::kWary / 2);
  EXPECT_TRUE(policy.is_wary(seconds(5) + P::kWary));
  EXPECT_EQ(policy.next_tick(seconds(5) + P::kWary), P::kMoment);
  EXPECT_FALSE(policy.is_wary(seconds(5) + 2 * P::kWary));
  policy.heard(seconds(6));
  EXPECT_FALSE(policy.is_wary(seconds(6))) << "it has driven for long: nothing of the program's doing";
}

// A policy whose thread drives in the place of a program that polled.
void stand_in(P& policy) {
  hand_over(policy);
  (void)policy.on_tick();
  ASSERT_TRUE(policy.take_from_program(seconds(5)));
}

TEST(DrivePolicy, TheThreadLeavesTheRestToAProgramThatPolledAndHasFewReceives) {
  P policy;
  stand_in(policy);
  EXPECT_FALSE(policy.leaves_the_rest(false, seconds(5)));
  EXPECT_TRUE(policy.leaves_the_rest(true, seconds(6)));
  EXPECT_TRUE(policy.leaves_the_rest(true, seconds(6) + P::kHold - 1));
  EXPECT_FALSE(policy.leaves_the_rest(false, seconds(6) + P::kHold - 1)) << "it has posted";
}

TEST(DrivePolicy, ItDoesSoForAWhile) {
  P policy;
  stand_in(policy);
  EXPECT_TRUE(policy.leaves_the_rest(true, seconds(6)));
  EXPECT_FALSE(policy.leaves_the_rest(true, seconds(6) + P::kHold));
  EXPECT_FALSE(policy.leaves_the_rest(true, seconds(7))) << "as a card would go on, without the program";
  (void)policy.on_poll();
  EXPECT_TRUE(policy.leaves_the_rest(true, seconds(7))) << "since it has polled, it is waited for once more";
}

TEST(DrivePolicy, ItTakesAllForOneWhoWaitsForAnEvent) {
  P policy;
  EXPECT_FALSE(policy.leaves_the_rest(true, seconds(5))) << "nobody has ever polled";
  stand_in(policy);
  (void)policy.on_armed();
  EXPECT_FALSE(policy.leaves_the_rest(true, seconds(5)));
}

TEST(DrivePolicy, NorForOneWhoDrivesItself) {
  P policy;
  stand_in(policy);
  policy.hand_to_program();
  EXPECT_FALSE(policy.leaves_the_rest(true, seconds(5)));
}

}  // namespace
}  // namespace weft::real
