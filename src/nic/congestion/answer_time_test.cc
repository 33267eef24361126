#include "nic/congestion/answer_time.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

TEST(AnswerTime, FollowsWhatIsMeasured) {
  AnswerTime time;
  EXPECT_FALSE(time.known());
  time.add(microseconds(100), nanoseconds(1));
  EXPECT_EQ(time.smoothed(), microseconds(100));
  EXPECT_EQ(time.longest(), microseconds(300)) << "RFC 6298: it may vary by half of what is known so far";
  for (int i = 0; i < 100; ++i) time.add(microseconds(100), nanoseconds(1));
  EXPECT_LT(time.longest(), microseconds(101)) << "it does not vary";
  for (int i = 0; i < 100; ++i) time.add(milliseconds(10), nanoseconds(1));
  EXPECT_GT(time.smoothed(), microseconds(9'900));
  EXPECT_GT(time.longest(), time.smoothed());
}

// A program that was stopped for an hour answered after an hour. What is lost afterwards was missed only after minutes.
TEST(AnswerTime, DoesNotTakeAStoppedProgramForALongWay) {
  for (const Time nanosecond : {Time{1}, Time{1000}}) {
    AnswerTime usual;
    const Time second = 1'000'000'000 * nanosecond;
    usual.add(second / 10'000, nanosecond);
    usual.add(3600 * second, nanosecond);
    EXPECT_LT(usual.longest(), 2 * second);
    AnswerTime first;
    first.add(3600 * second, nanosecond);
    EXPECT_LE(first.longest(), 3 * second);
  }
}

}  // namespace
}  // namespace weft::nic
