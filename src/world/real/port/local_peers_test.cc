// Who is on this host, and how long one who takes nothing is waited for: by shared memory and a clock that the test
// moves.
#include "world/real/port/local_peers.h"

#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

constexpr std::uint8_t kMine = 1;
const wire::Address kHere = wire::Address::v4(127, 0, 0, 1), kThere = wire::Address::v4(10, 0, 0, 1);
const wire::Flow kFlow{.source = kHere, .destination = kHere, .source_port = wire::kRocePort};

// Another lane, and what we share with it.
struct Other {
  explicit Other(std::uint8_t number, bool by_ring = true)
      : lane_number(number),
        channel(make_shared_memory("weft-test-channel", sizeof(Channel))),
        status(make_shared_memory("weft-test-status", sizeof(SharedStatus))),
        itself(number, kMine, Mapping<Channel>::of(channel.get()), Mapping<SharedStatus>::of(status.get()), {}),
        shared_status(Mapping<SharedStatus>::of(status.get())),
        ring(by_ring) {}
  [[nodiscard]] std::unique_ptr<LocalPeer> as_seen_by_us() const {
    auto peer = std::make_unique<LocalPeer>(kMine, lane_number, Mapping<Channel>::of(channel.get()),
                                            Mapping<SharedStatus>::of(status.get()), Descriptor());
    peer->ring = ring;
    return peer;
  }
  void take_all() {
    while (!itself.in.empty()) {
      itself.in.read(64, [](const wire::Flow&, auto, DatagramTraits) {});
      itself.in.done();
    }
  }

  std::uint8_t lane_number;
  Descriptor channel, status;
  LocalPeer itself;
  Mapping<SharedStatus> shared_status;
  bool ring;
};

class LocalPeersTest : public testing::Test {
 protected:
  LocalPeer& meet(const Other& other, std::vector<wire::Address> at = {kHere}) {
    peers.name(other.lane_number, at);
    return peers.add(other.as_seen_by_us());
  }
  void fill_ring_of(LocalPeer& peer) {
    const std::array<std::byte, 4096> record{};
    peers.use(peer);
    while (peer.out.write(kFlow, record)) {
    }
  }

  LocalPeers peers;
  Time now = seconds(7);
};

TEST_F(LocalPeersTest, AreFoundByLaneNumberAndAddress) {
  const Other second(2), third(3);
  LocalPeer& two = meet(second, {kHere, kThere});
  LocalPeer& three = meet(third);
  EXPECT_EQ(peers.find(2), &two);
  EXPECT_EQ(peers.find(3), &three);
  EXPECT_EQ(peers.find(4), nullptr);
  EXPECT_EQ(peers.find(2, kThere), &two);
  EXPECT_EQ(peers.find(3, kThere), nullptr) << "lane 3 of another host";
  EXPECT_TRUE(peers.has_address(kThere));
  peers.remove(2);
  EXPECT_EQ(peers.find(2), nullptr);
  EXPECT_FALSE(peers.has_address(kThere));
  EXPECT_TRUE(peers.has_address(kHere)) << "that of the third";
  EXPECT_EQ(peers.size(), 1U);
}

TEST_F(LocalPeersTest, ANameCountsWithoutMemoryAndTheNextOwnersReplacesIt) {
  peers.name(2, std::array{kThere});
  EXPECT_TRUE(peers.has_address(kThere));
  EXPECT_EQ(peers.find(2, kThere), nullptr);
  peers.name(2, std::array{kHere});
  EXPECT_FALSE(peers.has_address(kThere));
}

TEST_F(LocalPeersTest, KeepNamesWhenTheirMemoryIsSharedAnew) {
  const Other second(2);
  meet(second);
  ASSERT_TRUE(peers.has_rings());
  peers.let_go_of_memory();
  EXPECT_TRUE(peers.empty());
  EXPECT_FALSE(peers.has_rings());
  EXPECT_TRUE(peers.has_address(kHere));
}

TEST_F(LocalPeersTest, HaveRingsAsLongAsOneOfThemHas) {
  const Other by_udp(2, false), by_ring(3);
  meet(by_udp);
  EXPECT_FALSE(peers.has_rings());
  meet(by_ring);
  EXPECT_TRUE(peers.has_rings());
  peers.remove(3);
  EXPECT_FALSE(peers.has_rings());
}

TEST_F(LocalPeersTest, WhatIsWrittenIsSeenWhenItIsShownOrPublished) {
  Other second(2);
  LocalPeer& peer = meet(second);
  const std::array<std::byte, 64> record{};
  peers.use(peer);
  ASSERT_TRUE(peer.out.write(kFlow, record));
  EXPECT_TRUE(peers.has_unpublished());
  EXPECT_TRUE(second.itself.in.empty());
  peers.show();
  EXPECT_FALSE(second.itself.in.empty());
  EXPECT_TRUE(peers.has_unpublished()) << "nobody has looked yet whether it sleeps";
  peers.publish(now);
  EXPECT_FALSE(peers.has_unpublished());
}

TEST_F(LocalPeersTest, AFullRingBlocksUntilItsReaderHasTakenSomething) {
  Other second(2);
  LocalPeer& peer = meet(second);
  EXPECT_FALSE(peers.blocked(now));
  fill_ring_of(peer);
  EXPECT_TRUE(peers.blocked(now)) << "before it is published, too";
  peers.publish(now);
  EXPECT_TRUE(peers.blocked(now + LocalPeers::kPatience - 1));
  second.take_all();
  EXPECT_FALSE(peers.blocked(now + LocalPeers::kPatience - 1));
}

TEST_F(LocalPeersTest, OneWhoTakesNothingIsWaitedForOnceAndAgainWhenItHasTakenSomething) {
  Other second(2);
  LocalPeer& peer = meet(second);
  fill_ring_of(peer);
  peers.publish(now);
  ASSERT_TRUE(peers.blocked(now));
  now += LocalPeers::kPatience;
  EXPECT_FALSE(peers.blocked(now));
  peers.use(peer);
  peers.publish(now);
  EXPECT_FALSE(peers.blocked(now)) << "it is numb: it loses packets, and nobody waits";
  second.take_all();
  peers.use(peer);
  peers.publish(now);
  fill_ring_of(peer);
  peers.publish(now);
  EXPECT_TRUE(peers.blocked(now));
}

TEST_F(LocalPeersTest, OneWhoHasGoneBlocksNobody) {
  const Other second(2);
  fill_ring_of(meet(second));
  peers.publish(now);
  ASSERT_TRUE(peers.blocked(now));
  peers.remove(2);
  EXPECT_FALSE(peers.blocked(now));
}

TEST_F(LocalPeersTest, FullSocketsBlockToo) {
  const Other second(2, false);
  LocalPeer& peer = meet(second);
  second.shared_status->udp_room.store(1 << 20);
  peers.use(peer);
  peer.count_sent(1 << 10);
  peers.announce(now);
  peers.publish(now);
  EXPECT_FALSE(peers.blocked(now));
  peers.use(peer);
  peer.count_sent(1 << 19);
  peers.announce(now);
  peers.publish(now);
  EXPECT_TRUE(peers.blocked(now));
  second.shared_status->udp_taken.store(second.shared_status->udp_sent.load());
  EXPECT_FALSE(peers.blocked(now));
}

TEST_F(LocalPeersTest, TellWhoseRingHasSomething) {
  Other second(2), third(3);
  meet(second);
  LocalPeer& three = meet(third);
  EXPECT_EQ(peers.readable(), nullptr);
  const std::array<std::byte, 64> record{};
  ASSERT_TRUE(third.itself.out.write(kFlow, record));
  third.itself.publish();
  EXPECT_EQ(peers.readable(), &three);
}

}  // namespace
}  // namespace weft::real
