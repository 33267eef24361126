// A packet behind which there is nothing more to send says so: it need not wait for company on its way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder.h"

namespace weft::test {
namespace {

using testing::ElementsAre;

constexpr nic::CardConfig kConfig{.max_qps = 16, .max_cqs = 8, .max_srqs = 4, .region_slot_bits = 6};

struct LastPacket : testing::Test {
  LonelyCard card{kConfig};
  host::QueuePair &a = card.add_qp(), &b = card.add_qp();
};

TEST_F(LastPacket, IsTheEndOfAMessage) {
  card.send(a, 0, 3 * LonelyCard::kMtu);
  card.turn_all();
  EXPECT_THAT(card.world.lasts, ElementsAre(false, false, true));
}
TEST_F(LastPacket, IsOfTheLastMessageOfItsQueuePair) {
  for (int i = 0; i < 3; ++i) card.send(a, 0, 64);
  card.turn_all();
  EXPECT_THAT(card.world.lasts, ElementsAre(false, false, true));
}
TEST_F(LastPacket, IsOfTheLastQueuePairThatIsReady) {
  card.send(a, 0, 64);
  card.send(b, 0, 64);
  card.turn_all();
  EXPECT_THAT(card.world.lasts, ElementsAre(false, true));
}
TEST_F(LastPacket, ComesAgainWithEachMessageThatIsAlone) {
  for (int i = 0; i < 2; ++i) {
    card.send(a, 0, 64);
    card.turn_all();
  }
  EXPECT_THAT(card.world.lasts, ElementsAre(true, true));
}

}  // namespace
}  // namespace weft::test
