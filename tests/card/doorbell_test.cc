// A doorbell with which there comes a turn: nobody has to stand in an empty queue, and nobody overtakes those in a full
// one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "card/recorder.h"
#include "support/bed.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kBytes = 64;

struct DoorbellAndTurn : testing::Test {
  // Have these parts of the memory left, and nothing else?
  void expect_sent(std::initializer_list<std::size_t> offsets) {
    std::vector<std::byte> want;
    for (const std::size_t at : offsets) {
      const auto from = card.memory.begin() + static_cast<std::ptrdiff_t>(at);
      want.insert(want.end(), from, from + kBytes);
    }
    EXPECT_EQ(card.world.sent, want);
  }
  LonelyCard card{kSmallCard};
  host::QueuePair &a = card.add_qp(), &b = card.add_qp();
};

TEST_F(DoorbellAndTurn, SendsAtOnceWhatIsAlone) {
  card.send(a, 0, kBytes);
  card.hear_and_turn();
  expect_sent({0});
  EXPECT_FALSE(card.has_work());
}
TEST_F(DoorbellAndTurn, IsTheTurnOfWhoStandsInTheQueue) {
  card.send(b, 1000, kBytes);
  card.hear();
  card.send(a, 0, kBytes);
  card.hear_and_turn();
  expect_sent({1000});
  EXPECT_TRUE(card.has_work());
  card.turn_all();
  expect_sent({1000, 0});
}
TEST_F(DoorbellAndTurn, LeavesInTheQueueWhatIsMoreThanATurn) {
  constexpr std::uint32_t kLong = 40 * LonelyCard::kMtu;
  ASSERT_LT(kSmallCard.burst_bytes, std::int64_t{kLong});
  card.send(a, 0, kLong);
  card.hear_and_turn();
  EXPECT_LT(card.world.sent.size(), kLong);
  EXPECT_TRUE(card.has_work());
  card.send(b, 50'000, kBytes);
  card.turn_all();
  EXPECT_EQ(card.world.sent.size(), kLong + kBytes);
}
TEST_F(DoorbellAndTurn, FlushesWhatABrokenQueuePairHas) {
  ASSERT_EQ(a.modify({.state = nic::QpState::error}, host::QpMask::state), host::Error::none);
  card.send(a, 0, kBytes);
  card.hear_and_turn();
  expect_sent({});
  nic::Completion done;
  ASSERT_EQ(card.cq->poll({&done, 1}), 1U);
  EXPECT_EQ(done.status, nic::Status::flushed);
}

}  // namespace
}  // namespace weft::test
