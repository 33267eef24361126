// How often a lane looks at its sockets, by a clock that the test moves.
#include "world/real/port/poll_cadence.h"

#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

using Look = PollCadence::Look;

class Cadence : public testing::Test {
 protected:
  [[nodiscard]] Look look() { return cadence.look(now, has_local_peers); }
  // How many of so many looks, by one who polls every nanosecond, are at some socket.
  int looks_of(int polls) {
    int looks = 0;
    for (; polls > 0; --polls, now += nanoseconds(1)) looks += look() != Look::none ? 1 : 0;
    return looks;
  }

  PollCadence cadence;
  Time now = seconds(2);
  bool has_local_peers = true;
};

TEST_F(Cadence, WithoutLocalPeersEveryLookIsAtAllSockets) {
  has_local_peers = false;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(look(), Look::all);
}

TEST_F(Cadence, WhoeverAnnouncesIsTrusted) {
  EXPECT_EQ(look(), Look::all);
  EXPECT_EQ(look(), Look::none);
  now += PollCadence::kPause - 1;
  EXPECT_EQ(look(), Look::none);
  now += 1;
  EXPECT_EQ(look(), Look::all) << "strangers announce nothing";
  EXPECT_EQ(looks_of(4999), 0);
}

TEST_F(Cadence, IsOverdueWhenNobodyHasLookedForLong) {
  EXPECT_TRUE(cadence.is_overdue(now)) << "nobody ever has";
  ASSERT_EQ(look(), Look::all);
  EXPECT_FALSE(cadence.is_overdue(now + PollCadence::kLongestPause - 1));
  EXPECT_TRUE(cadence.is_overdue(now + PollCadence::kLongestPause));
}

TEST_F(Cadence, WhatIsAnnouncedIsLookedForWithoutAPause) {
  ASSERT_EQ(look(), Look::all);
  cadence.announced();
  EXPECT_TRUE(cadence.is_eager());
  EXPECT_EQ(looks_of(4000), static_cast<int>(PollCadence::kEagerLooks));
  EXPECT_FALSE(cadence.is_eager());
}

TEST_F(Cadence, WhatComesKeepsItEager) {
  for (int i = 0; i < 1000; ++i, now += nanoseconds(100)) {
    cadence.came_by(0);
    EXPECT_NE(look(), Look::none);
  }
}

TEST_F(Cadence, TheBusySocketIsLookedAtOftenAndTheOthersInBetween) {
  cadence.came_by(1);
  EXPECT_TRUE(cadence.is_busy(1));
  EXPECT_FALSE(cadence.is_busy(0));
  int all = 0, busy = 0;
  for (std::uint32_t i = 0; i < PollCadence::kEagerLooks; ++i) {
    const Look l = look();
    all += l == Look::all ? 1 : 0;
    busy += l == Look::busy ? 1 : 0;
  }
  EXPECT_EQ(all, static_cast<int>(PollCadence::kEagerLooks / PollCadence::kAllEvery));
  EXPECT_EQ(all + busy, static_cast<int>(PollCadence::kEagerLooks));
}

TEST_F(Cadence, LooksAtAllWhenItIsTold) {
  ASSERT_EQ(look(), Look::all);
  cadence.came_by(0);
  ASSERT_EQ(look(), Look::busy);
  cadence.look_at_all();
  EXPECT_EQ(look(), Look::all);
}

TEST_F(Cadence, AsksSeveralTimesOnlyWhereSomebodyWaits) {
  const std::uint32_t many = PollCadence::kBusyLooks;
  EXPECT_EQ(cadence.looks_at(0, true, true), 1U) << "nothing has come for long";
  cadence.came_by(0);
  EXPECT_EQ(cadence.looks_at(0, true, true), many);
  EXPECT_EQ(cadence.looks_at(1, true, true), 1U) << "not the busy one";
  EXPECT_EQ(cadence.looks_at(0, false, true), 1U) << "there is something else to do";
  EXPECT_EQ(cadence.looks_at(0, true, false), 1U) << "much comes at once";
}

TEST_F(Cadence, ASocketThatWasClosedIsNotTheBusyOne) {
  cadence.came_by(2);
  cadence.keep_sockets(2);
  EXPECT_TRUE(cadence.is_busy(1));
}

}  // namespace
}  // namespace weft::real
