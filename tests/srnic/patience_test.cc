// How long srnic waits: it asks what has arrived long before the local ACK timeout, ever more seldom; only whole
// timeouts count as retries. And receivers that are not ready.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

const Step kWrite{.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096};

Time undisturbed() {
  Bed bed(srnic_bed());
  auto [a, b] = bed.connect();
  a.post(kWrite);
  EXPECT_TRUE(bed.run());
  return drain(a.node()).at(0).when;
}

// A question, its answer, and the packet that was lost: one way more than if it had been sent again unasked.
TEST(Probe, FindsALostTailAfterItsDelay) {
  const Time clean = undisturbed();
  for (const Time delay : {microseconds(10), microseconds(100), microseconds(500)}) {
    BedSpec spec = srnic_bed(dropping({1}));
    spec.card.probe_delay = delay;
    Bed bed(spec);
    auto [a, b] = bed.connect();
    a.post(kWrite);
    ASSERT_TRUE(bed.run());
    const auto log = drain(a.node());
    ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::success)));
    EXPECT_GT(log[0].when, clean + delay);
    EXPECT_LT(log[0].when, 2 * clean + delay) << "the question is shorter than what it is about";
    EXPECT_EQ(a.node().counted(Counter::probes_sent), 1U);
    EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 1U);
    EXPECT_EQ(a.node().counted(Counter::local_ack_timeout_err), 0U) << "nobody's patience was tried";
    expect_nothing_held(bed);
  }
}

// Silence of 10, 20, 40 ... us, until the program's own timeout is shorter.
TEST(Probe, ComesEverMoreSeldom) {
  sim::FaultPlan plan;
  plan.holes = {{0, microseconds(1000)}};
  BedSpec spec = srnic_bed(plan);
  spec.card.probe_delay = microseconds(10);
  Bed bed(spec);
  auto [a, b] = bed.connect({.ack_timeout = 14});
  a.post(kWrite);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_EQ(a.node().counted(Counter::probes_sent), 7U) << "after 10, 30, 70, 150, 310, 630 and 1270 us";
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 1U) << "when the peer has said that it is missing";
}

// What is late is not lost: the answer to the question says so, and nothing is sent again.
TEST(Probe, SendsNothingAgainThatIsOnlyLate) {
  BedSpec spec = srnic_bed();
  spec.link.delay = milliseconds(3);
  spec.card.probe_delay = microseconds(10);
  Bed bed(spec);
  auto [a, b] = bed.connect({.ack_timeout = 16});
  for (int i = 0; i < 3; ++i) {
    a.post(kWrite);
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  }
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 0U);
  EXPECT_EQ(b.node().counted(Refusal::psn_duplicate), 0U);
  const std::uint64_t asked = a.node().counted(Counter::probes_sent);
  EXPECT_GT(asked, 0U);
  a.post(kWrite);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().counted(Counter::probes_sent), asked) << "by now it is known how long an answer takes";
  expect_nothing_held(bed);
}

// The answers to questions arrive, but what they ask for never does: such a way is given up, too.
TEST(Probe, DoesNotGoOnForEverWhenOnlyQuestionsArrive) {
  sim::FaultPlan plan;  // what is sent, a question, what is sent again, a question ...
  for (std::uint64_t nth = 1; nth < 1000; nth += 2) plan.script.push_back({sim::Fault::drop, nth});
  Bed bed(srnic_bed());
  bed.world().set_faults(bed.world().uplink(0), plan);
  auto [a, b] = bed.connect({.ack_timeout = 4, .retry_count = 2});
  a.post(kWrite);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::retry_exceeded)))
      << a.node().counted(Counter::retransmitted_pkts) << " packets sent again, "
      << a.node().counted(Counter::probes_sent) << " questions";
  EXPECT_GT(b.node().counted(Counter::acks_sent), 8U);
}

TEST(SrnicRetryCount, CountsWholeTimeouts) {
  for (std::uint8_t count = 0; count <= 7; ++count) {
    sim::FaultPlan plan;
    plan.holes = {{0, kNever}};
    BedSpec spec = srnic_bed(plan);
    spec.card.probe_delay = seconds(1);  // never before the timeout
    Bed bed(spec);
    auto [a, b] = bed.connect({.retry_count = count});
    a.post(kWrite);
    ASSERT_TRUE(bed.run());
    const auto log = drain(a.node());
    ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::retry_exceeded)));
    EXPECT_EQ(log[0].when, (count + 1) * wire::ack_timeout(8, nanoseconds(1)));
    EXPECT_EQ(a.node().counted(Counter::retry_exceeded_err), 1U);
    EXPECT_EQ(a.qp().state(), nic::QpState::error);
  }
}

// Most of a long message is lost, the receiver says so, and then the way ends. However much there is to send again, the
// peer is given up as soon as if there were little.
TEST(SrnicRetryCount, DoesNotDependOnHowMuchThereIsToSendAgain) {
  sim::FaultPlan plan;
  plan.holes = {{microseconds(2), microseconds(25)}, {microseconds(31), kNever}};
  BedSpec spec = srnic_bed(plan);
  spec.card.window_packets = 1024;
  spec.card.congestion = nic::CongestionControl::none;
  spec.arena_bytes = 256 * 1024;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 1000 * kMtu}}, .remote = 0});
  ASSERT_TRUE(bed.run());
  const auto log = drain(a.node());
  ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::retry_exceeded)));
  EXPECT_EQ(a.node().counted(Counter::recoveries_entered), 1U);
  EXPECT_GT(a.node().counted(Counter::retransmitted_pkts), 255U) << "more was lost than may be sent again unheard";
  EXPECT_LT(log[0].when, 20 * wire::ack_timeout(8, nanoseconds(1)));
}

// The way ends while answers fill the window, so a request cannot be sent. Once nobody waits for the answers any more
// it is, and finds that the peer is gone.
TEST(SrnicRetryCount, EndsARequestThatWaitedForAnswersThatNobodyTakes) {
  sim::FaultPlan plan;
  plan.holes = {{microseconds(3), kNever}};
  BedSpec spec = srnic_bed(plan);
  spec.card.window_packets = 8;
  spec.card.target_delay = microseconds(100);
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = kMtu});
  b.post({.id = 2, .kind = WorkKind::read, .local = {{8192, 64 * kMtu}}, .remote = 8192});
  ASSERT_FALSE(bed.run(microseconds(20)));
  a.post(kWrite);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::retry_exceeded)));
}

TEST(SrnicRetryCount, IsGivenBackByProgress) {
  BedSpec spec = srnic_bed(dropping({1, 2, 5, 6}));
  spec.card.probe_delay = seconds(1);
  Bed bed(spec);
  auto [a, b] = bed.connect({.retry_count = 2});
  for (int i = 0; i < 2; ++i) {
    a.post(kWrite);
    ASSERT_TRUE(bed.run());
    ASSERT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  }
  expect_nothing_held(bed);
}

TEST(SrnicTimeout, OfZeroIsForever) {
  sim::FaultPlan plan;
  plan.holes = {{0, seconds(20)}};
  Bed bed(srnic_bed(plan));
  auto [a, b] = bed.connect({.ack_timeout = 0, .retry_count = 0});
  a.post(kWrite);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
}

// In srnic a SEND without a receive holds back completions, not placement.
TEST(SrnicReceiverNotReady, HoldsBackWhatFollowsFromBeingSeen) {
  Bed bed(srnic_bed());
  auto [a, b] = bed.connect();
  a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 100}}});
  a.post({.id = 2, .kind = WorkKind::fetch_add, .local = {{512, 8}}, .remote = 8192, .compare_add = 1});
  a.post({.id = 3, .kind = WorkKind::write_immediate, .local = {{0, 100}}, .remote = 4096});
  const std::uint64_t before = b.node().word(8192);
  bed.world().run_until(microseconds(200));
  EXPECT_EQ(b.node().word(8192), before);
  EXPECT_EQ(a.node().cq->waiting() + b.node().cq->waiting(), 0U);
  b.receive(8, {{0, 200}});
  b.receive(9, {{0, 0}});
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().word(8192), before + 1);
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(1, 2, 3));
  EXPECT_THAT(ids(drain(b.node())), ElementsAre(8, 9));
  expect_nothing_held(bed);
}

TEST(SrnicReceiverNotReady, RetryCountIsExact) {
  for (std::uint8_t count = 0; count <= 6; ++count) {
    Bed bed(srnic_bed());
    auto [a, b] = bed.connect({.rnr_retry = count});
    a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 100}}});
    ASSERT_TRUE(bed.run());
    ASSERT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::rnr_retry_exceeded)));
    EXPECT_EQ(b.node().counted(Counter::send_rnr_err), count + 1U);
  }
}

// The READ before it has arrived and has not been answered yet: it is not what is given up.
TEST(SrnicReceiverNotReady, IsNotBlamedOnAReadThatIsBeingAnswered) {
  for (std::uint64_t lost = 3; lost <= 12; ++lost) {
    Bed bed(srnic_bed(dropping({lost})));
    auto [a, b] = bed.connect({.mtu = kMtu, .rnr_retry = 0});
    a.post({.id = 1, .kind = WorkKind::read, .local = {{0, 8 * kMtu}}, .remote = 8192});
    a.post({.id = 2, .kind = WorkKind::send, .local = {{0, 100}}});
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())),
                ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::rnr_retry_exceeded)));
    EXPECT_TRUE(same_bytes(a, {0, 8 * kMtu}, b, {8192, 8 * kMtu}));
  }
}

}  // namespace
}  // namespace weft::test
