// When the host can see completions that the card has written.
#include "world/sim/chip/coming.h"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

TEST(Coming, NobodySeesOneBeforeItsTime) {
  Coming coming;
  EXPECT_EQ(coming.next(), kNever);
  EXPECT_EQ(coming.add(100), 100);
  EXPECT_EQ(coming.next(), 100);
  EXPECT_FALSE(coming.take(99));
  EXPECT_TRUE(coming.take(100));
  EXPECT_FALSE(coming.take(100)) << "there was one";
}

TEST(Coming, TheyAreSeenInTheOrderInWhichTheyWereWritten) {
  Coming coming;
  EXPECT_EQ(coming.add(100), 100);
  EXPECT_EQ(coming.add(50), 101);
  EXPECT_TRUE(coming.take(200));
  EXPECT_EQ(coming.next(), 101);
  EXPECT_TRUE(coming.take(200));
  EXPECT_EQ(coming.add(10), 102) << "behind those that have been seen, too";
}

}  // namespace
}  // namespace weft::sim
