// What a side asks for and what it answers go the same way and share a window and a timer. Neither may wait for the
// other: the peer may be waiting for just the one to go on with the other.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

Step read_step(std::uint64_t id, std::uint32_t bytes) {
  return {.id = id, .kind = WorkKind::read, .local = {{16384, bytes}}, .remote = 8192};
}

// The window is full of a message for which there is no receive; its owner reads before it posts one.
TEST(Answers, AreNotHeldBackByAReceiverThatIsNotReady) {
  BedSpec spec = srnic_bed();
  spec.card.window_packets = 8;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 20 * kMtu}}});
  bed.world().run_until(microseconds(50));
  b.post(read_step(7, 30 * kMtu));
  bed.world().run_until(milliseconds(2));
  ASSERT_THAT(results(drain(b.node())), ElementsAre(IdAndStatus(7, Status::success)));
  EXPECT_TRUE(same_bytes(b, {16384, 30 * kMtu}, a, {8192, 30 * kMtu}));
  b.receive(8, {{32768, 20 * kMtu}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_TRUE(same_bytes(a, {0, 20 * kMtu}, b, {32768, 20 * kMtu}));
  expect_nothing_held(bed);
}

// Neither has a receive for the other, and both try again sooner than they look after anything else. Any one packet of
// the READ's answer, or of what else goes, may be lost.
TEST(Answers, AreSentAgainWhileNobodyIsReady) {
  for (std::uint64_t lost = 1; lost <= 60; ++lost) {
    SCOPED_TRACE(lost);
    Bed bed(srnic_bed(dropping({lost})));
    auto [a, b] = bed.connect({.mtu = kMtu, .min_rnr_timer = 8});
    a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 4 * kMtu}}});
    b.post(read_step(7, 4 * kMtu));
    b.post({.id = 2, .kind = WorkKind::send, .local = {{0, 4 * kMtu}}});
    bed.world().run_until(milliseconds(5));
    ASSERT_THAT(results(drain(b.node())), ElementsAre(IdAndStatus(7, Status::success)));
    a.receive(9, {{32768, 4 * kMtu}});
    b.receive(8, {{32768, 4 * kMtu}});
    ASSERT_TRUE(bed.run());
    expect_nothing_held(bed);
  }
}

// Every answer that arrives is good news, but not of the request.
TEST(LostRequest, IsNotHiddenByAPeerThatGoesOnReading) {
  Bed bed(srnic_bed(dropping({1})));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.receive(9, {{0, 100}});
  b.post({.id = 1, .kind = WorkKind::send, .local = {{0, 100}}});  // this one is lost
  for (std::uint64_t i = 0; i < 100; ++i) {
    a.post(read_step(100 + i, 64));
    bed.world().run_until(bed.now() + microseconds(30));
  }
  EXPECT_THAT(results(drain(b.node())), ElementsAre(IdAndStatus(1, Status::success))) << "while the other goes on";
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().counted(Counter::retransmitted_pkts), 1U) << "and the READs are no reason to send anything again";
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts) + b.node().counted(Counter::read_responses_resent), 0U);
  expect_nothing_held(bed);
}

// How long an answer is waited for is for the side to say that asked.
TEST(Answers, AreKeptForAnAskerWithMorePatience) {
  sim::FaultPlan plan;
  plan.holes = {{nanoseconds(500), milliseconds(50)}};
  Bed bed(srnic_bed(plan));
  auto [a, b] = bed.connect({.ack_timeout = 14, .retry_count = 7}, {.ack_timeout = 8, .retry_count = 0});
  a.post(read_step(7, 4096));
  bed.world().run_until(milliseconds(60));
  a.post(read_step(8, 4096));
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(7, Status::success), IdAndStatus(8, Status::success)));
  EXPECT_TRUE(same_bytes(a, {16384, 4096}, b, {8192, 4096}));
  expect_nothing_held(bed);
}

// Nobody will ever take it: all that is kept is the answer itself.
TEST(Answers, ThatNobodyTakesAreNotRecoveredForEver) {
  sim::FaultPlan plan;
  plan.holes = {{nanoseconds(500), kNever}};
  Bed bed(srnic_bed(plan));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post(read_step(7, 8 * kMtu));
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(7, Status::retry_exceeded)));
  EXPECT_EQ(b.node().device().retransmission().bytes(), 0U);
  EXPECT_EQ(b.qp().state(), nic::QpState::rts);
}

// Numbers of answers go round after 2^24 packets. So much is never under way: a long READ waits for those before it,
// and those behind it wait.
TEST(LongReads, GoAlone) {
  constexpr std::uint32_t kLong = ((1U << 15) + 1) * kMtu, kShort = 64;
  BedSpec spec = srnic_bed();
  spec.arena_bytes = 2 * kLong;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = kMtu});
  std::vector<std::uint64_t> all;
  for (const std::uint32_t bytes : {kShort, kShort, kLong, kLong, kShort, kShort}) {
    all.push_back(all.size());
    a.post({.id = all.back(), .kind = WorkKind::read, .local = {{0, bytes}}, .remote = kLong});
  }
  std::uint32_t most_short = 0;
  while (a.node().cq->waiting() < all.size() && bed.now() < seconds(1)) {
    bed.world().run_until(bed.now() + nanoseconds(200));
    const std::uint64_t oldest = a.context().sq_done, under_way = a.context().reads_under_way;
    const bool is_long = oldest == 2 || oldest == 3;
    if (is_long) {
      ASSERT_LE(under_way, 1U) << oldest;
    } else {
      most_short = std::max(most_short, static_cast<std::uint32_t>(under_way));
    }
  }
  EXPECT_EQ(most_short, 2U);
  EXPECT_EQ(ids(drain(a.node())), all);
  EXPECT_TRUE(same_bytes(a, {0, kLong}, b, {kLong, kLong}));
  ASSERT_TRUE(bed.run());
}

// The last thirty packets of a message are lost, and nothing follows. One silence is enough to find that out.
TEST(LostTail, ComesBackTogether) {
  sim::FaultPlan plan;
  plan.holes = {{nanoseconds(300), microseconds(50)}};
  Bed bed(srnic_bed(plan));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 40 * kMtu}}, .remote = 16384});
  ASSERT_TRUE(bed.run());
  const auto log = drain(a.node());
  ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_GE(a.node().counted(Counter::retransmitted_pkts), 20U);
  EXPECT_LT(log[0].when, 4 * nic::CardConfig{}.probe_delay);
  EXPECT_TRUE(same_bytes(a, {0, 40 * kMtu}, b, {16384, 40 * kMtu}));
  expect_nothing_held(bed);
}

}  // namespace
}  // namespace weft::test
