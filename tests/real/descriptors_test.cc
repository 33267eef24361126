// Programs that have used up their descriptors are told so, and go on when they have some again.
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "lanes.h"
#include "world/real/conversation.h"

namespace weft::real {
namespace {

// As long as it lives, no more than so many descriptors can be opened.
class FewDescriptors {
 public:
  explicit FewDescriptors(int few) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit now = before_;
    for (now.rlim_cur = 0; few > 0; ++now.rlim_cur) few -= fcntl(static_cast<int>(now.rlim_cur), F_GETFD) < 0 ? 1 : 0;
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

struct Nobody final : LaneOwner {
  void on_completion_event(std::uint32_t) override {}
  void on_async_event() override {}
  void on_mad(const wire::Address&, const wire::Address&, std::span<const std::byte>) override {}
};

// Its thread answers the weft command's questions.
bool answers(Conversation& command, const Lane& lane) {
  Message question(Topic::ask);
  question.ticket.place = lane.place();
  EXPECT_TRUE(command.say(question, "stats"));
  const auto answer = command.wait(2000);
  return answer && answer->message.code == 0;
}

// With four it gets no socket, with five no thread, with six it has all that it needs. Bug: one whose thread could not
// be started was taken for whole when it was asked again.
TEST(LaneShortOfDescriptors, HasAThreadOrIsNotAttached) {
  Settings s;
  s.addresses = {wire::Address::v4(127, 0, 4, 4)};
  s.max_qps = 16;
  const TestLane keeps_the_broker(s);
  Conversation command = call_broker();
  ASSERT_TRUE(command);
  for (const int few : {4, 5, 6}) {
    Nobody owner;
    Lane lane(s, owner);
    {
      const FewDescriptors limit(few);
      const auto attached = lane.attach();
      EXPECT_EQ(attached ? 0 : attached.error().code, few == 6 ? 0 : EMFILE) << few;
    }
    ASSERT_TRUE(lane.attach().has_value()) << few;
    EXPECT_NE(lane.place(), 0) << few;
    EXPECT_TRUE(answers(command, lane)) << few;
  }
}

}  // namespace
}  // namespace weft::real
