// The broker outlives many programs; it must not keep what they no longer need.
#include <gtest/gtest.h>

#include "lanes.h"
#include "world/real/conversation.h"

namespace weft::real {
namespace {

// Bug: after 256 addresses, one after the other, nobody could join any more.
TEST(Broker, LetsGoOfAddressesThatNobodyHas) {
  Settings keeper;
  keeper.addresses = {wire::Address::v4(127, 0, 4, 1)};
  keeper.max_qps = 16;
  const TestLane stays(keeper);
  for (std::uint8_t i = 0; i < 150; ++i) {
    Settings s = keeper;
    s.addresses = {wire::Address::v4(127, 0, 5, i), wire::Address::v4(127, 0, 6, i)};
    const TestLane lane(s);
    ASSERT_NE(lane.lane.place(), 0) << "address " << int{i};
  }
}

// The weft command asks a lane just when its program asks the broker for something: whichever of the lane's threads
// reads the question, it is answered. Bug: the program's set it aside, and the lane's own slept on.
TEST(Broker, FindsALaneThatAsksItselfReadyToAnswer) {
  Settings s;
  s.addresses = {wire::Address::v4(127, 0, 4, 2)};
  s.max_qps = 16;
  TestLane asked(s);
  Conversation command = call_broker();
  ASSERT_TRUE(command);
  for (int round = 0; round < 3000; ++round) {
    Message question(Topic::ask);
    question.ticket.place = asked.lane.place();
    ASSERT_TRUE(command.say(question, "stats"));
    const auto port = asked.lane.bind_service(0x0106, s.addresses[0], 0);
    ASSERT_TRUE(port.has_value());
    const auto answer = command.wait(2000);
    ASSERT_TRUE(answer.has_value()) << "round " << round;
    ASSERT_EQ(answer->message.topic, Topic::answer);
    ASSERT_EQ(answer->message.code, 0) << "the whole of it";
    asked.lane.release_service(0x0106, s.addresses[0], *port);
  }
}

}  // namespace
}  // namespace weft::real
