// No storm feeds itself. Packets are late, come twice, or their acknowledgements are lost, and what is sent again
// because of that stays so little that the wire carries four fifths of what it could.
#include <gtest/gtest.h>

#include "load/scene.h"

namespace weft::test {
namespace {

using nic::WorkKind;

constexpr double kFloor = 0.8;

Load busy(WorkKind kind = WorkKind::write) { return {.kind = kind, .bytes = 65536, .connections = 64, .messages = 64}; }

void expect_no_storm(const Load& load) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(testing::Message() << load.text() << ", seed " << seed << ", faults " << load.faults.text());
    const Loaded seen = run(load, seed);
    EXPECT_TRUE(seen.at_rest);
    EXPECT_EQ(seen.failed, 0U);
    EXPECT_GE(seen.of_the_wire, kFloor) << seen.again << " of " << seen.sent << " packets sent again";
  }
}

TEST(Storm, DoesNotComeOfDelays) {
  for (const WorkKind kind : {WorkKind::write, WorkKind::send}) {
    Load load = busy(kind);
    load.stops_at = milliseconds(2);
    load.stops_for = milliseconds(1);
    load.stops_every = milliseconds(10);
    expect_no_storm(load);
    EXPECT_EQ(run(load).again, 0U) << "nothing was lost";
  }
}

// A packet may be overtaken by a thousand others. But if all are late, by more than the target for a queue, that is
// what a queue looks like, and the window stays at its least.
TEST(Storm, DoesNotComeOfJitter) {
  for (const double share : {0.01, 0.1, 1.0}) {
    for (const Time most : {microseconds(10), microseconds(100), milliseconds(3)}) {
      Load load = busy();
      if (share == 1.0 && most > load.target_delay) continue;
      load.faults = {.jitter = share, .jitter_max = most};
      expect_no_storm(load);
    }
  }
}

TEST(Storm, DoesNotComeOfDuplicates) {
  Load load = busy();
  load.faults = {.duplication = 0.1};
  expect_no_storm(load);
}

TEST(Storm, DoesNotComeOfLostAcknowledgements) {
  for (const WorkKind kind : {WorkKind::write, WorkKind::send, WorkKind::read}) {
    for (const double share : {0.01, 0.1, 0.2}) {
      Load load = busy(kind);
      // What is answered to a READ is its data.
      (kind == WorkKind::read ? load.faults : load.answer_faults) = {.loss = share};
      expect_no_storm(load);
    }
  }
}

TEST(Storm, DoesNotComeOfAllTogether) {
  Load load = busy();
  load.faults = {.loss = 0.001, .duplication = 0.02, .jitter = 0.02, .jitter_max = milliseconds(1)};
  load.answer_faults = {.loss = 0.05, .duplication = 0.02, .jitter = 0.02, .jitter_max = milliseconds(1)};
  load.stops_at = milliseconds(5);
  load.stops_for = microseconds(500);
  load.stops_every = milliseconds(10);
  expect_no_storm(load);
}

// It fills the peer's window alone, and the end of what it has under way is lost. It waited for the window then, and
// the window for it.
TEST(Storm, AConnectionThatWaitsForItsOwnPacketsAsksForThem) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    Load load{.bytes = 1 << 20, .connections = 1, .messages = 8};
    load.faults = {.loss = 0.05};
    const Loaded seen = run(load, seed);
    EXPECT_TRUE(seen.at_rest) << "seed " << seed;
    EXPECT_EQ(seen.failed, 0U) << "seed " << seed;
  }
}

// What was sent again needlessly is recognised, and less of it is sent from then on.
TEST(Storm, WhatWasNeedlessIsRecognised) {
  Load load = busy();
  load.faults = {.jitter = 0.2, .jitter_max = microseconds(60)};
  const Loaded seen = run(load);
  EXPECT_GT(seen.needless, 0U);
  EXPECT_LE(seen.again, seen.sent / 50) << "a fifth of all packets was overtaken";
}

}  // namespace
}  // namespace weft::test
