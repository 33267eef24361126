// Who may use something of which there is one, and when.
#include "world/sim/chip/reservations.h"

#include <gtest/gtest.h>

#include "world/random.h"

namespace weft::sim {
namespace {

constexpr Time kNs = nanoseconds(1);

TEST(Reservations, WhoComesFirstIsServedAtOnce) {
  Reservations c;
  EXPECT_EQ(c.take(0, 10 * kNs, 5 * kNs), 15 * kNs);
  EXPECT_EQ(c.take(0, 500 * kNs, 0), 500 * kNs) << "nothing takes no time";
}

TEST(Reservations, WhoComesLaterWaits) {
  Reservations c;
  EXPECT_EQ(c.take(0, 0, 100 * kNs), 100 * kNs);
  EXPECT_EQ(c.take(0, 0, 100 * kNs), 200 * kNs);
  EXPECT_EQ(c.take(0, 50 * kNs, 100 * kNs), 300 * kNs);
}

// What is planned for later does not hold up what comes now.
TEST(Reservations, AFreeMomentBeforeAPlannedOneCanBeHad) {
  Reservations c;
  EXPECT_EQ(c.take(0, microseconds(2), 500 * kNs), microseconds(2) + 500 * kNs);
  EXPECT_EQ(c.take(0, 0, 500 * kNs), 500 * kNs);
  EXPECT_NEAR(c.take(0, microseconds(2), 100 * kNs), microseconds(2) + 600 * kNs, 66 * kNs) << "to a slice";
}

TEST(Reservations, SmallThingsOvertakeButCountForThoseBehind) {
  Reservations c;
  EXPECT_EQ(c.take(0, 0, microseconds(1)), microseconds(1));
  EXPECT_EQ(c.take_first(0, 0, 10 * kNs), 10 * kNs);
  EXPECT_EQ(c.take(0, 0, 10 * kNs), microseconds(1) + 20 * kNs);
}
TEST(Reservations, NobodyOvertakesWithoutEnd) {
  Reservations c;
  Time last = 0;
  for (int i = 0; i < 1000; ++i) last = c.take_first(0, 0, 100 * kNs);
  EXPECT_GE(last, microseconds(97)) << "100 us of work cannot be done in less than that, but for what may be overtaken";
}

// However it is asked for, no more is given than there is.
TEST(Reservations, GivesNoMoreThanThereIs) {
  world::Random random(7);
  Reservations c;
  Time now = 0, end = 0;
  for (int i = 0; i < 100'000; ++i) {
    now += static_cast<Time>(random.below(20 * kNs));
    const Time from = now + static_cast<Time>(random.below(microseconds(3)));
    const Time busy = static_cast<Time>(random.below(40 * kNs));
    const Time done = c.take(now, from, busy);
    ASSERT_GE(done, from + busy);
    end = std::max(end, done);
  }
  EXPECT_LE(c.total(), end);
  EXPECT_GE(c.total(), end * 95 / 100) << "twice as much was asked for as there is: little may be left unused";
}

TEST(Reservations, FurtherAheadThanAnybodyPlansIsOneAfterTheOther) {
  Reservations c;
  const Time first = c.take(0, seconds(1), 10 * kNs), second = c.take(0, seconds(1), 10 * kNs);
  EXPECT_GE(first, seconds(1) + 10 * kNs);
  EXPECT_GE(second, first + 10 * kNs);
  EXPECT_EQ(c.take(seconds(2), seconds(2), 10 * kNs), seconds(2) + 10 * kNs);
}

}  // namespace
}  // namespace weft::sim
