#include "nic/congestion/peers.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

wire::Address address(std::uint8_t n) { return wire::Address::v4(10, 0, 0, n); }

TEST(Peers, AreToldApartByAddressAndCard) {
  Peers peers(16);
  const std::uint16_t a = peers.join(address(1), 0, 8);
  EXPECT_NE(a, kNoPeer);
  EXPECT_EQ(peers.join(address(1), 0, 8), a);
  EXPECT_NE(peers.join(address(1), 1, 8), a) << "another card at the same address";
  EXPECT_NE(peers.join(address(2), 0, 8), a);
  EXPECT_EQ(peers[a].connections, 2U);
}

TEST(Peers, ThatNobodyIsConnectedWithAreForgotten) {
  Peers peers(16);
  Context c;
  c.peer_slot = peers.join(address(1), 0, 8);
  const std::uint16_t place = c.peer_slot;
  c.counted = 5;
  peers[place].under_way = 5;
  peers[place].answer_time.add(milliseconds(1), nanoseconds(1));
  EXPECT_EQ(peers.leave(c, 3), kNone);
  EXPECT_EQ(c.peer_slot, kNoPeer);
  EXPECT_EQ(peers[place].under_way, 0U);
  EXPECT_EQ(peers.join(address(2), 0, 8), place);
  EXPECT_FALSE(peers[place].answer_time.known()) << "that was another's";
}

// Beyond what the table holds peers share places, and nothing else happens.
TEST(Peers, ShareAPlaceWhenThereAreTooMany) {
  Peers peers(16);
  for (std::uint32_t i = 0; i < 2 * Peers::kMost; ++i) {
    const std::uint16_t place = peers.join(address(1), i, 8);
    ASSERT_GE(place, 1U);
    ASSERT_LE(place, Peers::kMost);
  }
  EXPECT_EQ(peers.size(), Peers::kMost);
}

TEST(Peers, ThoseThatWaitHaveTheirTurnsInOrder) {
  Peers peers(16);
  Peer p;
  for (const std::uint32_t slot : {3U, 1U, 7U}) peers.push(p, slot);
  peers.push_front(p, 5);
  for (const std::uint32_t slot : {5U, 3U, 1U}) EXPECT_EQ(peers.pop(p), slot);
  peers.push(p, 2);
  for (const std::uint32_t slot : {7U, 2U}) EXPECT_EQ(peers.pop(p), slot);
  EXPECT_EQ(p.first, kNone);
}

TEST(Peers, WhoLeavesWaitsNoMore) {
  for (const std::uint32_t gone : {0U, 1U, 2U}) {
    Peers peers(16);
    Context contexts[3];
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      contexts[slot].peer_slot = peers.join(address(1), 0, 8);
      contexts[slot].waits = true;
      peers.push(peers[1], slot);
    }
    EXPECT_EQ(peers.leave(contexts[gone], gone), gone == 0 ? 1U : 0U) << "the next to be looked at";
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      if (slot == gone) continue;
      EXPECT_EQ(peers.pop(peers[1]), slot);
    }
    EXPECT_EQ(peers[1].first, kNone);
  }
}

TEST(ReorderingRoom, WidensWithWhatWasNeedlessAndNarrowsAgain) {
  ReorderingRoom room;
  EXPECT_EQ(room.packets(), 3U);
  for (int i = 0; i < 20; ++i) room.on_needless();
  EXPECT_EQ(room.packets(), 256U);
  for (int i = 0; i < 200; ++i) room.on_recovered();
  EXPECT_EQ(room.packets(), 3U);
}

}  // namespace
}  // namespace weft::nic
