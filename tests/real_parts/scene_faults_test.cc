// Each thing that can befall lanes that share memory, by itself: before every step of a small scene, and at many times
// of a larger one. What the swarm draws has a name here. A failure prints the line that replays it:
//
//   WEFT_SEED=2 WEFT_STEP=17 build/tests/scene_test --gtest_filter=…
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "real_parts/spec.h"
#include "support/seeds.h"

namespace weft::scene {
namespace {

using nic::Counter;
using nic::WorkKind;
using real::TransportChoice;
using testing::IsEmpty;

constexpr std::uint32_t kLong = 100'000;  // long enough to be exported

// Two lanes that send each other a message of each kind.
SceneSpec small_scene() {
  SceneSpec spec{.one_copy = real::OneCopy::on, .breathes = 0.3};
  ConnectionSpec c{.receives = 64};
  for (auto& messages : c.messages) {
    messages = {{WorkKind::write, kLong},
                {WorkKind::write_immediate, 64},
                {WorkKind::send_immediate, kLong},
                {WorkKind::write, 10'000},
                {WorkKind::read, kLong}};
  }
  spec.connections = {c};
  return spec;
}

// Three that have to do with each other, and send messages of every kind and length.
SceneSpec three_lanes() {
  SceneSpec spec{.lanes = 3, .one_copy = real::OneCopy::on};
  ConnectionSpec c{.receives = 64};
  for (auto& messages : c.messages) {
    for (const std::uint32_t bytes : {kLong, 64U, 10'000U, kLong, 200'000U, 0U, kLong, kLong}) {
      messages.push_back({WorkKind::write, bytes});
      messages.push_back({bytes > 64 ? WorkKind::send_immediate : WorkKind::write_immediate, bytes});
    }
    messages.push_back({WorkKind::read, kLong});
  }
  spec.connections = {c, c};
  spec.connections[1].lanes = {1, 2};
  return spec;
}

struct Sum {
  std::uint64_t runs = 0;
  Met met{};
  nic::Counters counters{};
  [[nodiscard]] std::uint64_t operator[](Counter c) const { return counters.get(c); }

  void add(const Outcome& outcome) {
    ++runs;
    met.add(outcome.met);
    for (std::size_t i = 0; i < nic::kCounterNames.size(); ++i) {
      counters.add(static_cast<Counter>(i), outcome.counters.get(static_cast<Counter>(i)));
    }
  }
};

std::string replay_line(std::uint64_t seed, std::uint64_t step) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return "replay: WEFT_SEED=" + std::to_string(seed) + " WEFT_STEP=" + std::to_string(step) +
         " build/tests/scene_test --gtest_filter=" + test.test_suite_name() + "." + test.name();
}

// With a few seeds, and the fault before every step that the scene has without it.
Sum before_each_step(SceneSpec spec, test::Seeds usual = {1, 2}) {
  Sum sum;
  const test::Seeds seeds = test::chosen_seeds(usual);
  const char* const one = std::getenv("WEFT_STEP");
  for (spec.seed = seeds.first; spec.seed <= seeds.last; ++spec.seed) {
    SceneSpec calm = spec;
    calm.faults.clear();
    const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 0) : 1;
    const std::uint64_t last = one != nullptr ? first : run(calm).steps;
    EXPECT_GE(last, first);
    for (std::uint64_t step = first; step <= last; ++step) {
      for (FaultSpec& fault : spec.faults) fault.step = step;
      const Outcome outcome = run(spec);
      EXPECT_THAT(outcome.violations, IsEmpty()) << replay_line(spec.seed, step);
      sum.add(outcome);
      if (testing::Test::HasFailure()) return sum;
    }
  }
  return sum;
}

// With a few seeds, and the fault at each of these times.
Sum play(SceneSpec spec, const std::vector<Time>& times = {0}) {
  Sum sum;
  const test::Seeds seeds = test::chosen_seeds({1, 4});
  for (const Time at : times) {
    for (spec.seed = seeds.first; spec.seed <= seeds.last; ++spec.seed) {
      for (FaultSpec& fault : spec.faults) fault.at = at;
      const Outcome outcome = run(spec);
      EXPECT_THAT(outcome.violations, IsEmpty()) << replay_line(spec.seed, 0) << ", fault at " << at / 1000 << " ns";
      sum.add(outcome);
      if (testing::Test::HasFailure()) return sum;
    }
  }
  return sum;
}

std::vector<Time> every(Time step, Time last) {
  std::vector<Time> times;
  for (Time at = 0; at <= last; at += step) times.push_back(at);
  return times;
}

// ---- nothing goes wrong

TEST(Rings, CarryEverythingOnceInBothDialects) {
  for (const TransportChoice transport : {TransportChoice::roce, TransportChoice::srnic, TransportChoice::automatic}) {
    for (const real::OneCopy one_copy : {real::OneCopy::off, real::OneCopy::on, real::OneCopy::measured}) {
      SceneSpec spec = three_lanes();
      spec.transport = transport;
      spec.one_copy = one_copy;
      const Sum sum = play(spec);
      EXPECT_EQ(sum.met.failed_messages, 0U);
      EXPECT_EQ(sum.met.datagrams, 0U);
      if (one_copy == real::OneCopy::measured) continue;  // which way is quicker here is the seed's
      const bool exports = transport != TransportChoice::roce && one_copy == real::OneCopy::on;
      EXPECT_EQ(sum[Counter::one_copy_fetches] > 0, exports);
    }
  }
}

// A receiver with one receive at a time makes its sender begin anew again and again. However much that is, and though
// the receiver says nothing of what it cannot take yet, it is there, and nobody gives it up.
TEST(Rings, ReceiverThatIsOftenNotReadyIsNotGivenUp) {
  SceneSpec spec = small_scene();
  spec.breathes = 0.05;
  ConnectionSpec& c = spec.connections[0];
  c.mtu = 1024;
  c.window = 16;
  c.receives = 1;
  c.messages[0].clear();
  for (const std::uint32_t bytes : {206'000U, 27'000U, 80'000U, 260'000U, 108'000U, 130'000U}) {
    c.messages[0].push_back({WorkKind::write, 200'000});
    c.messages[0].push_back({WorkKind::send_immediate, bytes});
  }
  spec.habits = {Habit{}, Habit{.pauses = 0.2, .waits = 0.5, .longest_pause = microseconds(700)}};
  const Sum sum = play(spec, every(1, 9));
  EXPECT_EQ(sum.met.failed_messages, 0U);
  EXPECT_GT(sum[Counter::rcvd_rnr_err], 20U);
}

// A program that sleeps until there is an event, one that computes for a while after each poll, one that does both:
// the thread drives, the program, and the thread again. No acknowledgement is forgotten when they change.
TEST(Driver, ChangesHandsAndNothingIsSentTwice) {
  for (const Habit& habit : {Habit{.pauses = 0, .waits = 1.0}, Habit{.pauses = 0.3, .waits = 0},
                             Habit{.pauses = 0.1, .waits = 0.1, .longest_pause = milliseconds(2)}}) {
    SceneSpec spec = three_lanes();
    spec.habits = {habit, habit, Habit{}};
    const Sum sum = play(spec);
    EXPECT_GT(sum.met.drivers_changed, 0U);
    EXPECT_GT(sum.met.sleeps, 5U);
    EXPECT_EQ(sum[Counter::retransmitted_pkts], 0U);
  }
}

TEST(Driver, ChangesHandsBeforeEachStep) {
  SceneSpec spec = small_scene();
  spec.faults = {{.kind = FaultKind::driver_changes, .lane = 1}};
  const Sum sum = before_each_step(spec);
  EXPECT_EQ(sum.met.failed_messages, 0U);
  EXPECT_EQ(sum[Counter::retransmitted_pkts], 0U);
  EXPECT_GE(sum.met.drivers_changed, sum.runs);
}

// ---- the broker

TEST(BrokerDeath, BeforeEachStepCostsTimeAndNoConnection) {
  SceneSpec spec = small_scene();
  spec.faults = {{.kind = FaultKind::broker_dies}};
  const Sum sum = before_each_step(spec);
  EXPECT_EQ(sum.met.failed_messages, 0U);
  EXPECT_GT(sum.met.returns, sum.runs) << "lanes have come back";
}

TEST(BrokerDeath, TwiceInARow) {
  SceneSpec spec = three_lanes();
  spec.faults = {{.kind = FaultKind::broker_dies}, {.kind = FaultKind::broker_dies}};
  for (spec.seed = 1; spec.seed <= 10; ++spec.seed) {
    spec.faults[0].at = microseconds(20);
    spec.faults[1].at = microseconds(20) + static_cast<Time>(spec.seed) * microseconds(700);
    EXPECT_THAT(run(spec).violations, IsEmpty()) << replay_line(spec.seed, 0);
  }
}

// It still has a socket of the broker that was killed: nobody can come back before it goes on, and rings go on.
TEST(BrokerDeath, WhileALaneIsStopped) {
  SceneSpec spec = three_lanes();
  spec.faults = {{.kind = FaultKind::lane_stops, .lasts = milliseconds(60), .lane = 2},
                 {.kind = FaultKind::broker_dies}};
  const Sum sum = play(spec, every(microseconds(20), microseconds(100)));
  EXPECT_EQ(sum.met.failed_messages, 0U);
}

// ---- memory

TEST(Revocation, RegionThatGoesBeforeAnyStepIsNeverReadAgain) {
  SceneSpec spec = small_scene();
  spec.faults = {{.kind = FaultKind::region_goes}};
  const Sum sum = before_each_step(spec);
  EXPECT_GT(sum.met.failed_messages, 0U);
  EXPECT_GT(sum.met.payloads_gone, 0U) << "somebody came too late";
}

TEST(Revocation, QueuePairThatGoesBeforeAnyStepTakesItsExportsAlong) {
  SceneSpec spec = small_scene();
  spec.faults = {{.kind = FaultKind::queue_pair_goes}};
  const Sum sum = before_each_step(spec);
  EXPECT_GT(sum.met.failed_messages, 0U);
}

// A word revokes all that was exported to a peer. What was not meant is sent again.
TEST(Revocation, OfOtherMemoryBeforeAnyStepCostsAMessageItsOneCopyAndNothingElse) {
  SceneSpec spec = small_scene();
  spec.faults = {{.kind = FaultKind::other_region_goes, .lane = 1}};
  const Sum sum = before_each_step(spec);
  EXPECT_EQ(sum.met.failed_messages, 0U);
  EXPECT_GT(sum.met.payloads_gone, 0U);
  EXPECT_GT(sum[Counter::retransmitted_pkts], 0U);
}

// ---- peers

// It reads no ring for longer than anybody waits for it. The ring fills, packets are lost, and all arrive.
TEST(StoppedLane, FillsItsRingAndLosesNoMessage) {
  SceneSpec spec = small_scene();
  spec.one_copy = real::OneCopy::off;
  spec.connections[0].window = 16;
  for (int i = 0; i < 3; ++i) spec.connections.push_back(spec.connections[0]);
  spec.faults = {{.kind = FaultKind::lane_stops, .lasts = milliseconds(150), .lane = 1}};
  const Sum sum = play(spec, every(microseconds(10), microseconds(60)));
  EXPECT_EQ(sum.met.failed_messages, 0U);
  EXPECT_GT(sum[Counter::retransmitted_pkts], 0U) << "what found no room";
}

// The others hear of it. Work for it ends with an error, and what it left behind is heard.
TEST(KilledLane, BeforeEachStepIsGivenUp) {
  SceneSpec spec = small_scene();
  spec.faults = {{.kind = FaultKind::lane_dies, .lane = 1}};
  const Sum sum = before_each_step(spec);
  EXPECT_GT(sum.met.failed_messages, 0U);
  EXPECT_GT(sum[Counter::retry_exceeded_err], 0U);
  EXPECT_GT(sum.met.killed_inside, 10U);
}

TEST(KilledLane, HarmsNobodyElse) {
  for (const TransportChoice transport : {TransportChoice::roce, TransportChoice::srnic}) {
    SceneSpec spec = three_lanes();
    spec.transport = transport;
    spec.faults = {{.kind = FaultKind::lane_dies, .lane = 2}};
    const Sum sum = play(spec, every(microseconds(20), microseconds(100)));
    EXPECT_GT(sum[Counter::retry_exceeded_err], 0U);
  }
}

// Nobody tells the others: the broker is dead, too.
TEST(KilledLane, AfterItsBroker) {
  SceneSpec spec = three_lanes();
  spec.faults = {{.kind = FaultKind::broker_dies}, {.kind = FaultKind::lane_dies, .lane = 2}};
  play(spec, every(microseconds(20), microseconds(60)));
}

// ---- datagrams

TEST(Datagrams, AreCountedSoThatNoneIsLost) {
  for (const TransportChoice transport : {TransportChoice::roce, TransportChoice::srnic}) {
    SceneSpec spec = three_lanes();
    spec.transport = transport;
    spec.rings = false;
    const Sum sum = play(spec);
    EXPECT_GT(sum.met.datagrams, 100U);
    EXPECT_EQ(sum[Counter::local_ack_timeout_err], 0U);
  }
}

TEST(Datagrams, ThatAreLostAreSentAgain) {
  for (const TransportChoice transport : {TransportChoice::roce, TransportChoice::srnic}) {
    SceneSpec spec = three_lanes();
    spec.transport = transport;
    spec.rings = false;
    spec.loss = 0.05;
    const Sum sum = play(spec);
    EXPECT_EQ(sum.met.failed_messages, 0U);
    EXPECT_GT(sum[Counter::retransmitted_pkts], 0U);
  }
}

}  // namespace
}  // namespace weft::scene
