// Nothing is lost, so nothing is sent again: however many connections share a bottleneck, whatever they have posted.
#include <gtest/gtest.h>

#include "load/scene.h"

namespace weft::test {
namespace {

using nic::Dialect;
using nic::WorkKind;

// As many messages of each connection as make a run worth its time: 64 MB, or 100 000 messages.
std::uint32_t messages_of(std::uint32_t bytes, std::uint32_t connections) {
  const std::uint64_t most = std::min<std::uint64_t>((64U << 20) / bytes, 100'000) / connections;
  std::uint32_t messages = 1;
  while (messages < 128 && messages * 2U <= most) messages *= 2;
  return messages;
}

void expect_nothing_again(const Load& load) {
  SCOPED_TRACE(load.text());
  const Loaded seen = run(load);
  EXPECT_TRUE(seen.at_rest);
  EXPECT_EQ(seen.failed, 0U);
  EXPECT_EQ(seen.again, 0U) << "of " << seen.sent << " packets";
  EXPECT_LE(seen.probes, 4 * load.connections + seen.sent / 20) << "questions are for silence, and nobody was silent";
}

struct Case {
  Dialect dialect;
  WorkKind kind;
};

class NothingLost : public testing::TestWithParam<Case> {
 protected:
  static Load load(std::uint32_t bytes, std::uint32_t connections) {
    return {.dialect = GetParam().dialect,
            .kind = GetParam().kind,
            .bytes = bytes,
            .connections = connections,
            .messages = messages_of(bytes, connections)};
  }
};

TEST_P(NothingLost, NothingIsSentAgainHoweverManyConnectionsThereAre) {
  for (const std::uint32_t connections : {1U, 8U, 64U, 256U, 1024U}) {
    for (const std::uint32_t bytes : {64U, 4096U, 65536U, 1U << 20}) expect_nothing_again(load(bytes, connections));
  }
}

TEST_P(NothingLost, NothingIsSentAgainWhenBothSidesSend) {
  for (const std::uint32_t connections : {1U, 64U, 1024U}) {
    for (const std::uint32_t bytes : {64U, 65536U}) {
      Load both = load(bytes, connections);
      both.both_ways = true;
      expect_nothing_again(both);
    }
  }
}

// The program's own patience is longer than that in roce, where silence is all that there is to go by.
TEST_P(NothingLost, NothingIsSentAgainWhenTheReceiverStopsForATenthOfASecond) {
  for (const std::uint32_t connections : {1U, 64U, 1024U}) {
    for (const std::uint32_t bytes : {64U, 65536U}) {
      Load stopped = load(bytes, connections);
      stopped.stops_at = microseconds(500);
      stopped.stops_for = milliseconds(100);
      if (stopped.dialect == Dialect::roce) stopped.ack_timeout = 16;
      SCOPED_TRACE(stopped.text());
      const Loaded seen = run(stopped);
      EXPECT_TRUE(seen.at_rest);
      EXPECT_EQ(seen.failed, 0U);
      EXPECT_EQ(seen.again, 0U) << "of " << seen.sent << " packets";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Load, NothingLost,
                         testing::Values(Case{Dialect::srnic, WorkKind::write}, Case{Dialect::srnic, WorkKind::send},
                                         Case{Dialect::srnic, WorkKind::read}, Case{Dialect::roce, WorkKind::write},
                                         Case{Dialect::roce, WorkKind::send}, Case{Dialect::roce, WorkKind::read}),
                         [](const auto& which) {
                           return std::string(which.param.dialect == Dialect::srnic ? "srnic" : "roce") +
                                  (which.param.kind == WorkKind::send   ? "Send"
                                   : which.param.kind == WorkKind::read ? "Read"
                                                                        : "Write");
                         });

}  // namespace
}  // namespace weft::test
