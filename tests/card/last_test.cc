// A packet behind which there is nothing more to send says so: it need not wait for company on its way out.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder.h"
#include "support/bed.h"

namespace weft::test {
namespace {

using testing::ElementsAre;

struct LastPacket : testing::Test {
  LonelyCard card{kSmallCard};
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

// Whoever waits for room at the peer follows as soon as the turn before has ended. Over UDP each last packet is a
// system call: 1024 connections with a SEND each had a third of the rate that they have when packets leave together.
TEST(LastPacketToACrowdedPeer, IsNotOneBehindWhichOthersWaitForRoom) {
  nic::CardConfig config = kSmallCard;
  config.target_delay = 1'000'000;
  config.window_packets = 2;
  LonelyCard card(config);
  std::vector<host::QueuePair*> qps;
  for (int i = 0; i < 5; ++i) qps.push_back(&card.add_qp(wire::Service::rc));
  for (host::QueuePair* qp : qps) card.send(*qp, 0, 64);
  card.turn_all();
  EXPECT_THAT(card.world.lasts, ElementsAre(false, false)) << "the others wait";
  for (int i = 0; i < 2; ++i) card.acknowledge(*qps[i]);
  card.turn_all();
  EXPECT_THAT(card.world.lasts, ElementsAre(false, false, false, false, true)) << "there is room for all of them now";
}

}  // namespace
}  // namespace weft::test
