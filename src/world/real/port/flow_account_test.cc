// Senders and a receiver that share a page agree on what is in the receiver's sockets, whatever is lost, and tell each
// other seldom. Time is the test's.
#include "world/real/port/flow_account.h"

#include <memory>

#include <gtest/gtest.h>

#include "world/real/os/time.h"

namespace weft::real {
namespace {

constexpr std::int64_t kRoom = 1 << 20;
constexpr std::int64_t kAccount = udp_account(kRoom);

class Flow : public testing::Test {
 protected:
  Flow() { receiver.open(*status, kRoom); }
  [[nodiscard]] std::int64_t in_sockets() const { return status->udp_sent - status->udp_taken; }
  // As many packets as there is room for; how many that were.
  int send_all(FlowCredit& from, std::size_t bytes) {
    int packets = 0;
    for (; from.has_room(); ++packets) {
      from.count_sent(bytes);
      from.announce(now);
    }
    return packets;
  }

  const std::unique_ptr<SharedStatus> status = std::make_unique<SharedStatus>();
  FlowAccount receiver;
  FlowCredit sender{*status};
  Time now = seconds(3);
};

TEST_F(Flow, TellsItsRoom) { EXPECT_EQ(status->udp_room, kRoom); }

TEST_F(Flow, TheFirstPacketAfterAPauseIsAnnounced) {
  EXPECT_TRUE(receiver.is_quiet());
  ASSERT_TRUE(sender.has_room());
  sender.count_sent(64);
  EXPECT_TRUE(receiver.is_quiet()) << "not before it leaves";
  sender.announce(now);
  EXPECT_FALSE(receiver.is_quiet());
  EXPECT_TRUE(receiver.has_news());
  EXPECT_FALSE(receiver.has_news()) << "that is known";
  EXPECT_EQ(in_sockets(), udp_cost(64));
}

TEST_F(Flow, LittleThatFollowsSoonIsNotAnnounced) {
  const auto send = [&] {
    ASSERT_TRUE(sender.has_room());
    sender.count_sent(64);
    sender.announce(now);
  };
  send();
  ASSERT_TRUE(receiver.has_news());
  now += kUdpSoon - 1;
  send();
  EXPECT_FALSE(receiver.has_news());
  now += kUdpSoon;
  send();
  EXPECT_TRUE(receiver.has_news());
  EXPECT_EQ(in_sockets(), 3 * udp_cost(64)) << "what was not announced is announced with it";
}

TEST_F(Flow, AStreamIsAnnouncedOnceAnAccount) {
  std::int64_t sent = 0;
  int news = 0;
  for (; sent < 8 * kAccount; sent += udp_cost(1000)) {
    ASSERT_TRUE(sender.has_room());
    sender.count_sent(1000);
    sender.announce(now += microseconds(1));
    news += receiver.has_news() ? 1 : 0;
  }
  EXPECT_GE(news, 7);
  EXPECT_LE(news, 10);
  EXPECT_LE(sent - in_sockets(), kAccount);
}

TEST_F(Flow, ASenderStopsWhenTheSocketsHaveWhatWasPromised) {
  EXPECT_GT(send_all(sender, 1000), 0);
  EXPECT_FALSE(sender.has_room());
  EXPECT_GE(in_sockets(), udp_promised(kRoom) - kAccount) << "but for what is not announced yet";
  EXPECT_LE(in_sockets(), udp_promised(kRoom) + kAccount);
}

TEST_F(Flow, AllSendersTogetherStopBeforeTheSocketsOverflow) {
  FlowCredit second{*status}, third{*status};
  (void)send_all(sender, 1000);
  (void)send_all(second, 1000);
  (void)send_all(third, 1000);
  EXPECT_LE(in_sockets(), kRoom);
}

TEST_F(Flow, ASenderGoesOnWhenSomethingWasTaken) {
  const int packets = send_all(sender, 1000);
  for (int i = 0; i < packets / 2; ++i) receiver.took(1000);
  EXPECT_TRUE(sender.has_room());
}

TEST_F(Flow, WhatIsTakenIsToldOnceAnAccount) {
  (void)send_all(sender, 1000);
  std::int64_t told = status->udp_taken;
  int times = 0;
  for (std::int64_t taken = 0; taken < 4 * kAccount; taken += udp_cost(1000)) {
    receiver.took(1000);
    if (status->udp_taken == told) continue;
    told = status->udp_taken;
    ++times;
  }
  EXPECT_GE(times, 3);
  EXPECT_LE(times, 4);
}

// A sender that was killed between announcing and sending, or a datagram that the kernel dropped, must not take room
// for ever.
TEST_F(Flow, EmptySocketsSettleTheAccountWhateverWasLost) {
  (void)send_all(sender, 1000);
  ASSERT_TRUE(receiver.has_news());
  ASSERT_FALSE(sender.has_room());
  receiver.settle();
  EXPECT_EQ(in_sockets(), 0);
  EXPECT_TRUE(sender.has_room());
}

// What was announced since the receiver looked may come after it has found its sockets empty.
TEST_F(Flow, SettlingSparesWhatWasAnnouncedMeanwhile) {
  EXPECT_FALSE(receiver.has_news());
  (void)send_all(sender, 1000);
  const std::int64_t sent = in_sockets();
  receiver.settle();
  EXPECT_EQ(in_sockets(), sent);
}

}  // namespace
}  // namespace weft::real
