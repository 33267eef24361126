// How often a lane tries to come back to a broker, by a clock that the test moves.
#include "world/real/lane/broker_return.h"

#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

constexpr Time kLost = seconds(9);

TEST(BrokerReturn, TriesNothingAsLongAsThereIsABroker) {
  const BrokerReturn back;
  EXPECT_FALSE(back.is_away());
  EXPECT_EQ(back.next_try(), kNever);
}

TEST(BrokerReturn, TriesAtOnceAndThenMoreAndMoreSeldom) {
  BrokerReturn back;
  back.lost(kLost);
  EXPECT_TRUE(back.is_away());
  EXPECT_EQ(back.next_try(), kLost);
  Time now = kLost, pause = 0;
  for (int i = 0; i < 20; ++i) {
    back.failed(now);
    const Time next = back.next_try() - now;
    EXPECT_GE(next, pause);
    EXPECT_LE(next, BrokerReturn::kLongestPause);
    EXPECT_TRUE(next > pause || next == BrokerReturn::kLongestPause);
    pause = next;
    now = back.next_try();
  }
  EXPECT_EQ(pause, BrokerReturn::kLongestPause) << "for ever: somebody may start one";
}

// The lane has no sockets meanwhile.
TEST(BrokerReturn, LooksSoonAgainForAsLongAsOthersComeBackHoweverLate) {
  BrokerReturn back;
  back.lost(kLost);
  for (int i = 0; i < 20; ++i) back.failed(kLost);
  for (Time now = kLost; now < kLost + seconds(5); now = back.next_try()) {
    back.must_wait_for_others(now);
    EXPECT_EQ(back.next_try(), now + BrokerReturn::kUntilOthersAreBack);
  }
}

TEST(BrokerReturn, TriesSoonAgainAfterTheNextIsLost) {
  BrokerReturn back;
  back.lost(kLost);
  for (int i = 0; i < 20; ++i) back.failed(kLost);
  back.came_back();
  EXPECT_FALSE(back.is_away());
  back.lost(kLost + seconds(60));
  back.failed(kLost + seconds(60));
  EXPECT_EQ(back.next_try(), kLost + seconds(60) + 2 * BrokerReturn::kFirstPause);
}

}  // namespace
}  // namespace weft::real
