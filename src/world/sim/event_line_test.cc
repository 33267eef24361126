// A line of events that come one after the other: only the first of them is in the queue.
#include "world/sim/event_line.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

Event at(Time when) { return {when, 0, 0, static_cast<std::uint32_t>(when)}; }

TEST(EventLine, OnlyTheFirstGoesToTheQueue) {
  EventLine line;
  EXPECT_TRUE(line.joins_as_first(at(1)));
  EXPECT_FALSE(line.joins_as_first(at(2)));
  Event next;
  ASSERT_TRUE(line.has_next(next));
  EXPECT_EQ(next.at, 2);
  EXPECT_FALSE(line.joins_as_first(at(3))) << "the second is in the queue now";
  ASSERT_TRUE(line.has_next(next));
  EXPECT_EQ(next.at, 3);
  EXPECT_FALSE(line.has_next(next));
  EXPECT_TRUE(line.joins_as_first(at(4))) << "nobody was left";
}

// More than there was room for, and around the end of the ring.
TEST(EventLine, KeepsItsOrderWhileItGrows) {
  EventLine line;
  Event next;
  ASSERT_TRUE(line.joins_as_first(at(0)));
  Time joined = 1, expected = 1;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 7; ++i) ASSERT_FALSE(line.joins_as_first(at(joined++)));
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(line.has_next(next));
      ASSERT_EQ(next.at, expected++);
    }
  }
  while (line.has_next(next)) ASSERT_EQ(next.at, expected++);
  EXPECT_EQ(expected, joined);
}

}  // namespace
}  // namespace weft::sim
