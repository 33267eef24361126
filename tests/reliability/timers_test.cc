// The requester's patience, to the picosecond: local ACK timeout, its retries, and receivers that are not ready.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bed.h"
#include "support/completions.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Dialect;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

const Step kWrite{.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096};
const Step kSend{.id = 1, .kind = WorkKind::send, .local = {{0, 100}}};

BedSpec with_plan(sim::FaultPlan plan) {
  BedSpec spec;
  plan.count_world = true;
  spec.link.faults = std::move(plan);
  return spec;
}
BedSpec dropping(std::initializer_list<std::uint64_t> packets) {
  sim::FaultPlan plan;
  for (const std::uint64_t nth : packets) plan.script.push_back({sim::Fault::drop, nth});
  return with_plan(plan);
}

// How long one step takes from posting at time 0 to its completion, when nothing goes wrong.
Time undisturbed(const Step& step, Dialect dialect = usual_dialect()) {
  Bed bed(speaking(dialect));
  auto [a, b] = bed.connect();
  b.receive(9, {{0, 200}});
  a.post(step);
  EXPECT_TRUE(bed.run());
  return drain(a.node()).at(0).when;
}

// In roce alone: srnic probes long before (tests/srnic/patience_test.cc).
TEST(LocalAckTimeout, IsExact) {
  const Time clean = undisturbed(kWrite, Dialect::roce);
  for (std::uint8_t code = 1; code <= 31; ++code) {
    Bed bed(speaking(Dialect::roce, dropping({1})));
    auto [a, b] = bed.connect({.ack_timeout = code});
    a.post(kWrite);
    ASSERT_TRUE(bed.run());
    const auto log = drain(a.node());
    ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::success)));
    EXPECT_EQ(log[0].when, clean + wire::ack_timeout(code, nanoseconds(1))) << "code " << +code;
    EXPECT_EQ(a.node().counted(Counter::local_ack_timeout_err), 1U);
  }
}

TEST(LocalAckTimeout, OfZeroIsForever) {
  Bed bed(speaking(Dialect::roce, dropping({1})));
  auto [a, b] = bed.connect({.ack_timeout = 0});
  a.post(kWrite);
  EXPECT_TRUE(bed.run());
  EXPECT_TRUE(drain(a.node()).empty());
  EXPECT_EQ(a.node().counted(Counter::sent_pkts), 1U);
}

TEST(LocalAckTimeout, StartsAnewWithEveryAcknowledgement) {
  // Two WRITEs; the second, packet 2, is lost. Silence begins when the first is acknowledged.
  Bed bed(speaking(Dialect::roce, dropping({2})));
  auto [a, b] = bed.connect();
  a.post(kWrite);
  Step second = kWrite;
  second.id = 2;
  a.post(second);
  ASSERT_TRUE(bed.run());
  const auto log = drain(a.node());
  ASSERT_THAT(ids(log), ElementsAre(1, 2));
  EXPECT_EQ(log[1].when, log[0].when + wire::ack_timeout(8, nanoseconds(1)) + undisturbed(kWrite, Dialect::roce));
}

TEST(RetryCount, IsExact) {
  for (std::uint8_t count = 0; count <= 7; ++count) {
    sim::FaultPlan plan;
    plan.holes = {{0, kNever}};
    Bed bed(speaking(Dialect::roce, with_plan(plan)));
    auto [a, b] = bed.connect({.retry_count = count});
    a.post(kWrite);
    ASSERT_TRUE(bed.run());
    const auto log = drain(a.node());
    ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::retry_exceeded)));
    EXPECT_EQ(log[0].when, (count + 1) * wire::ack_timeout(8, nanoseconds(1)));
    EXPECT_EQ(a.node().counted(Counter::sent_pkts), count + 1U);
    EXPECT_EQ(a.node().counted(Counter::retry_exceeded_err), 1U);
    EXPECT_EQ(a.qp().state(), nic::QpState::error);
  }
}

TEST(RetryCount, IsGivenBackByProgress) {
  // Twice in a row two tries are lost and the third arrives: with two retries both WRITEs come through.
  Bed bed(speaking(Dialect::roce, dropping({1, 2, 5, 6})));
  auto [a, b] = bed.connect({.retry_count = 2});
  for (int i = 0; i < 2; ++i) {
    a.post(kWrite);
    ASSERT_TRUE(bed.run());
    ASSERT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  }
  EXPECT_EQ(a.node().counted(Counter::local_ack_timeout_err), 4U);
}

TEST(ReceiverNotReady, DelayIsExactForEveryCode) {
  const Time round_trip = undisturbed(kSend);  // the refusal takes as long as an acknowledgement
  for (std::uint8_t code = 0; code <= 31; ++code) {
    Bed bed;
    auto [a, b] = bed.connect({.min_rnr_timer = code});
    a.post(kSend);
    bed.world().run_until(round_trip);
    b.receive(9, {{0, 200}});
    ASSERT_TRUE(bed.run());
    const auto log = drain(a.node());
    ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::success)));
    EXPECT_EQ(log[0].when, 2 * round_trip + wire::rnr_delay(code, nanoseconds(1))) << "code " << +code;
  }
}

TEST(ReceiverNotReady, RetryCountIsExact) {
  const Time round_trip = undisturbed(kSend);
  for (std::uint8_t count = 0; count <= 6; ++count) {
    Bed bed;
    auto [a, b] = bed.connect({.rnr_retry = count});
    a.post(kSend);
    ASSERT_TRUE(bed.run());
    const auto log = drain(a.node());
    ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::rnr_retry_exceeded)));
    EXPECT_EQ(log[0].when, (count + 1) * round_trip + count * wire::rnr_delay(1, nanoseconds(1)));
    EXPECT_EQ(b.node().counted(Counter::send_rnr_err), count + 1U);
    EXPECT_EQ(a.node().counted(Counter::rcvd_rnr_err), count + 1U);
    EXPECT_EQ(a.node().counted(Counter::retry_rnr_exceeded_err), 1U);
  }
}

TEST(ReceiverNotReady, RetriesAreGivenBackByProgress) {
  const Time round_trip = undisturbed(kSend);
  Bed bed;
  auto [a, b] = bed.connect({.rnr_retry = 1});
  for (int i = 0; i < 3; ++i) {
    a.post(kSend);
    bed.world().run_until(bed.now() + round_trip);  // refused
    b.receive(9, {{0, 200}});
    ASSERT_TRUE(bed.run());
    ASSERT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  }
  EXPECT_EQ(a.node().counted(Counter::rcvd_rnr_err), 3U);
}

TEST(ReceiverNotReady, SevenRetriesAreForever) {
  Bed bed;
  auto [a, b] = bed.connect({.rnr_retry = 7});
  a.post(kSend);
  bed.world().run_until(milliseconds(1));
  EXPECT_GT(a.node().counted(Counter::rcvd_rnr_err), 80U);  // one about every 12 us
  EXPECT_TRUE(drain(a.node()).empty());
  b.receive(9, {{0, 200}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
}

TEST(ReceiverNotReady, HoldsBackAllThatFollows) {
  Bed bed(speaking(Dialect::roce));
  auto [a, b] = bed.connect();
  const auto before = std::vector<std::byte>(b.node().arena.bytes.begin(), b.node().arena.bytes.end());
  a.post(kSend);
  a.post(kWrite);
  bed.world().run_until(microseconds(200));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), b.node().arena.bytes.begin()));
  b.receive(9, {{0, 200}});
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(b.node().bytes({4096, 100}), a.node().bytes({0, 100})));
}

TEST(ReceiverNotReady, RepeatsOnlyTheLastPacketOfAWriteWithImmediate) {
  BedSpec spec;
  spec.burst_bytes = spec.one_copy_bytes = 0;  // of what travels as one, all is refused
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = 256});
  a.post({.id = 1, .kind = WorkKind::write_immediate, .local = {{0, 700}}, .remote = 4096});
  bed.world().run_until(microseconds(5));
  b.receive(9, {{0, 0}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_EQ(a.node().counted(Counter::sent_pkts), 4U);
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 1U);
}

}  // namespace
}  // namespace weft::test
