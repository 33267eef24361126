// Programs that have used up their descriptors are told so, and go on when they have some again.
#include <array>
#include <cerrno>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "few_descriptors.h"
#include "lanes.h"
#include "world/real/broker/broker_client.h"

namespace weft::real {
namespace {

// Its thread answers the weft command's questions.
bool answers(Conversation& command, const Lane& lane) {
  Message question(Topic::ask);
  question.ticket.lane_number = lane.number();
  EXPECT_TRUE(command.say(question, "stats"));
  const auto answer = command.wait(kPatienceMilliseconds);
  return answer && answer->message.code == 0;
}

// With none it cannot even ask for the broker, with four it gets no socket, with five no lock on its number, with six
// no thread, with seven it has all that it needs. Bug: one whose thread could not be started was taken for whole when
// it was asked again. Bug: with none, broker after broker was started, and ten seconds later none had answered.
TEST(LaneShortOfDescriptors, HasAThreadOrIsNotAttached) {
  const Settings s = small_lane_at(wire::Address::v4(127, 0, 4, 4));
  const TestLane keeps_the_broker(s);
  Conversation command = call_broker();
  ASSERT_TRUE(command);
  for (const int few : {0, 1, 2, 3, 4, 5, 6, 7}) {
    Nobody owner;
    Lane lane(s, owner);
    {
      const FewDescriptors limit(few);
      const auto attached = lane.attach();
      EXPECT_EQ(attached ? 0 : attached.error().code, few == 7 ? 0 : EMFILE) << few;
    }
    ASSERT_TRUE(lane.attach().has_value()) << few;
    EXPECT_NE(lane.number(), 0) << few;
    EXPECT_TRUE(answers(command, lane)) << few;
  }
}

// Bug: what came without its descriptors was taken for news that the lane had left, and the answer waited for.
TEST(ClientShortOfDescriptors, IsToldThatNobodyCanBeMet) {
  std::array<int, 2> ends{-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Conversation broker{Descriptor(ends[0])};
  BrokerClient client{Conversation(Descriptor(ends[1]))};
  Message introduction(Topic::met), question(Topic::meet);
  introduction.local_peer.lane_number = question.local_peer.lane_number = 7;
  for (const int few : {0, 1, 2, 3}) {
    ASSERT_TRUE(broker.say(introduction, {}, std::array{ends[0], ends[0], ends[0]}));
    const FewDescriptors limit(few);
    const auto answer = client.call(question, Topic::met);
    ASSERT_TRUE(answer.has_value()) << few << ": it waited for one in vain";
    EXPECT_EQ(answer->message.code, few == 3 ? 0 : EMFILE);
    EXPECT_EQ(answer->descriptors.size(), few == 3 ? 3U : 0U);
  }
}

}  // namespace
}  // namespace weft::real
