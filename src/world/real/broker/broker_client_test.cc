// What the broker says by itself is heard, in its order, whoever happened to read it while waiting for something else.
#include "world/real/broker/broker_client.h"

#include <array>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "world/real/os/clock.h"
#include "world/real/os/time.h"

namespace weft::real {
namespace {

class Client : public testing::Test {
 protected:
  static constexpr std::uint32_t kLane = 7, kOther = 8;

  Client() : bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), client(connect_with_broker()) {
    client.set_bell(bell.get());
  }

  Conversation connect_with_broker() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    broker = Conversation(Descriptor(ends[0]));
    return Conversation(Descriptor(ends[1]));
  }

  static Message about(Topic topic, std::uint32_t lane_number) {
    Message m(topic);
    m.local_peer.lane_number = lane_number;
    return m;
  }
  void say_gone(std::uint32_t lane_number) { EXPECT_TRUE(broker.say(about(Topic::met, lane_number))); }
  void introduce(std::uint32_t lane_number) {
    Message m = about(Topic::met, lane_number);
    m.local_peer.address_count = 1;
    EXPECT_TRUE(broker.say(m, {}, std::array{bell.get(), bell.get(), bell.get()}));
  }
  void expect_heard(std::optional<Incoming> in, Topic topic, std::uint32_t lane_number, std::size_t descriptors) {
    ASSERT_TRUE(in.has_value());
    EXPECT_EQ(in->message.topic, topic);
    EXPECT_EQ(in->message.local_peer.lane_number, lane_number);
    EXPECT_EQ(in->descriptors.size(), descriptors);
  }
  [[nodiscard]] bool has_rung() {
    eventfd_t count = 0;
    return eventfd_read(bell.get(), &count) == 0;
  }

  Conversation broker;  // its end
  Descriptor bell;
  BrokerClient client;
};

// Bug: the lane's thread waits for the socket. A call had emptied it, and the thread slept on.
TEST_F(Client, RingsForWhatArrivesDuringACall) {
  EXPECT_TRUE(broker.say(about(Topic::asked, kOther)));
  EXPECT_TRUE(broker.say(about(Topic::bound, 0)));
  EXPECT_TRUE(client.call(Message(Topic::bind), Topic::bound).has_value());
  EXPECT_TRUE(has_rung());
  expect_heard(client.hear(), Topic::asked, kOther, 0);
}

TEST_F(Client, DoesNotRingForAnAnswer) {
  EXPECT_TRUE(broker.say(about(Topic::bound, 0)));
  EXPECT_TRUE(client.call(Message(Topic::bind), Topic::bound).has_value());
  EXPECT_FALSE(has_rung());
  EXPECT_FALSE(client.hear().has_value());
}

TEST_F(Client, RingsForWhatOneTopicIsHeardAheadOf) {
  EXPECT_TRUE(broker.say(about(Topic::asked, kOther)));
  introduce(kLane);
  expect_heard(client.hear_only(Topic::met), Topic::met, kLane, 3);
  EXPECT_TRUE(has_rung());
  expect_heard(client.hear(), Topic::asked, kOther, 0);
}

TEST_F(Client, HearsOfOneTopicWhatIsKeptFirst) {
  say_gone(kLane);
  EXPECT_TRUE(broker.say(about(Topic::bound, 0)));
  EXPECT_TRUE(client.call(Message(Topic::bind), Topic::bound).has_value());
  introduce(kLane);
  expect_heard(client.hear_only(Topic::met), Topic::met, kLane, 0);
  expect_heard(client.hear_only(Topic::met), Topic::met, kLane, 3);
}

// The next owner of a lane number would be taken for the last one, and be gone as soon as it was met.
TEST_F(Client, MeetsAPlacesNextOwnerAfterTheEndOfTheLast) {
  say_gone(kLane);
  introduce(kLane);
  EXPECT_FALSE(client.call(about(Topic::meet, kLane), Topic::met).has_value());
  EXPECT_TRUE(has_rung());
  expect_heard(client.hear(), Topic::met, kLane, 0);
  expect_heard(client.hear(), Topic::met, kLane, 3);
}

// Bug: while the broker was stopped, packets waited for it again and again, five seconds each time. Bug: a broker that
// was only late was not even asked, and the peer was not met.
TEST_F(Client, AsksASilentBrokerAndWaitsForItOnceInPassing) {
  EXPECT_FALSE(client.call_in_passing(about(Topic::meet, kLane), Topic::met).has_value());
  const Time before = clock_now();
  EXPECT_FALSE(client.call_in_passing(about(Topic::meet, kOther), Topic::met).has_value());
  EXPECT_LT(clock_now() - before, milliseconds(500));
  for (const std::uint32_t lane : {kLane, kOther}) {
    const auto asked = broker.hear();
    ASSERT_TRUE(asked.has_value());
    EXPECT_EQ(asked->message.local_peer.lane_number, lane);
  }
  // It speaks again, and is asked again.
  introduce(kLane);
  expect_heard(client.hear(), Topic::met, kLane, 3);
  introduce(kOther);
  expect_heard(client.call_in_passing(about(Topic::meet, kOther), Topic::met), Topic::met, kOther, 3);
}

// Whoever is in the midst of receiving can meet somebody, and part from nobody.
TEST_F(Client, HearsIntroductionsAheadOfAllElse) {
  EXPECT_TRUE(broker.say(about(Topic::asked, kOther)));
  say_gone(kOther);
  introduce(kLane);
  expect_heard(client.hear_introduction(), Topic::met, kLane, 3);
  EXPECT_FALSE(client.hear_introduction().has_value());
  EXPECT_TRUE(has_rung());
  expect_heard(client.hear(), Topic::asked, kOther, 0);
  expect_heard(client.hear(), Topic::met, kOther, 0);
}

TEST_F(Client, HearsNoIntroductionAheadOfTheEndOfThePlacesLastOwner) {
  say_gone(kLane);
  introduce(kLane);
  introduce(kOther);
  expect_heard(client.hear_introduction(), Topic::met, kOther, 3);
  EXPECT_FALSE(client.hear_introduction().has_value());
  expect_heard(client.hear(), Topic::met, kLane, 0);
  expect_heard(client.hear_introduction(), Topic::met, kLane, 3);
}

TEST_F(Client, MeetsALaneThoughAnotherHasEnded) {
  say_gone(kOther);
  introduce(kLane);
  expect_heard(client.call(about(Topic::meet, kLane), Topic::met), Topic::met, kLane, 3);
  expect_heard(client.hear(), Topic::met, kOther, 0);
}

}  // namespace
}  // namespace weft::real
