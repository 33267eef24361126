// The lane's thread, by a clock that the test moves: when it looks on, pauses, hears the broker and sleeps.
#include "world/real/lane/thread_policy.h"

#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

using Pause = ThreadShift::Pause;
constexpr Time kBegin = seconds(5);

TEST(ThreadShift, LooksOnForAWhileAfterTheLastPacket) {
  ThreadShift shift(kBegin, false);
  EXPECT_TRUE(shift.goes_on(kBegin + ThreadShift::kAfterglow - 1, false));
  EXPECT_FALSE(shift.goes_on(kBegin + ThreadShift::kAfterglow, false));
  const Time last = kBegin + microseconds(7);
  EXPECT_TRUE(shift.heard(last));
  EXPECT_TRUE(shift.goes_on(last + ThreadShift::kAfterglow - 1, false));
  EXPECT_FALSE(shift.goes_on(last + ThreadShift::kAfterglow, false));
}

TEST(ThreadShift, WaitsLongerForOneThatCopiesFromOurMemory) {
  const ThreadShift shift(kBegin, false);
  EXPECT_TRUE(shift.goes_on(kBegin + ThreadShift::kFetching - 1, true));
  EXPECT_FALSE(shift.goes_on(kBegin + ThreadShift::kFetching, true));
}

TEST(ThreadShift, GivesTheLockAwayAfterSomeRounds) {
  ThreadShift shift(kBegin, false);
  for (int times = 0; times < 3; ++times) {
    std::uint32_t rounds = 1;
    while (shift.heard(kBegin)) ++rounds;
    EXPECT_EQ(rounds, ThreadShift::kRounds);
    (void)shift.pause();
  }
}

TEST(ThreadShift, GivesTheProcessorAwayAtEveryFourthPause) {
  ThreadShift shift(kBegin, false);
  for (std::uint32_t i = 1; i <= 3 * ThreadShift::kPauses; ++i) {
    EXPECT_EQ(shift.pause(), i % ThreadShift::kPauses == 0 ? Pause::yields : Pause::brief) << i;
  }
}

// Bug: one that spins, waiting for a WRITE, has the processor for milliseconds if the thread yields to it.
TEST(ThreadShift, SleepsInsteadWhenTheProgramLooksAtItsMemory) {
  ThreadShift shift(kBegin, true);
  for (std::uint32_t i = 1; i < ThreadShift::kPauses; ++i) EXPECT_EQ(shift.pause(), Pause::brief);
  EXPECT_EQ(shift.pause(), Pause::sleeps);
}

TEST(ThreadShift, HearsTheBrokerHoweverMuchComes) {
  ThreadShift shift(kBegin, false);
  EXPECT_TRUE(shift.heard(kBegin + ThreadShift::kHearBroker - 1));
  EXPECT_FALSE(shift.hears_broker());
  EXPECT_FALSE(shift.heard(kBegin + ThreadShift::kHearBroker)) << "no more rounds";
  EXPECT_TRUE(shift.hears_broker());
}

TEST(ThreadShift, SleepsUntilTheNextDeadlineOrShortlyWhileThereIsWork) {
  EXPECT_EQ(ThreadShift::sleeps_until(kBegin, kNever, false), kNever);
  EXPECT_EQ(ThreadShift::sleeps_until(kBegin, kBegin + seconds(1), false), kBegin + seconds(1));
  EXPECT_EQ(ThreadShift::sleeps_until(kBegin, kBegin + seconds(1), true), kBegin + ThreadShift::kNap);
}

}  // namespace
}  // namespace weft::real
