// Into recovery and out of it again.
#include "host/memory_use.h"
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

BedSpec long_stream(sim::FaultPlan faults) {
  BedSpec spec = srnic_bed(std::move(faults));
  spec.card.window_packets = 2048;
  spec.card.congestion = nic::CongestionControl::none;
  spec.arena_bytes = 1 << 20;
  return spec;
}

// While the software's answer is under way, packets go on arriving, of which it knows nothing. The card leaves with all
// of them: what it expects is the packet behind the newest, and not the one that the software has named.
TEST(FastExit, TakesWithItWhatArrivedSinceTheSoftwareAnswered) {
  Bed bed(long_stream(dropping({3})));
  bed.node(1).host.set_control_delay(microseconds(5));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 1500 * kMtu}}, .remote = 512 * 1024});
  while (b.node().counted(Counter::recoveries_left) == 0) bed.world().run_until(bed.now() + nanoseconds(10));
  EXPECT_EQ(b.node().counted(Counter::fast_exits), 1U);
  EXPECT_EQ(b.context().srnic.in.run, 0U);
  // Everything that has arrived, each packet once.
  EXPECT_EQ(b.context().expected_psn.since(QpSpec{}.psn), b.node().counted(Counter::rcvd_pkts));
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 1U);
  EXPECT_EQ(b.node().counted(Counter::recoveries_entered), 1U) << "and is in order from then on";
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_TRUE(same_bytes(a, {0, 1500 * kMtu}, b, {512 * 1024, 1500 * kMtu}));
  expect_nothing_held(bed);
}

TEST(FastExit, IsNotNeededWhenNothingNewHasCome) {
  Bed bed(long_stream(dropping({3})));
  bed.node(1).host.set_control_delay(microseconds(5));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 10 * kMtu}}, .remote = 512 * 1024});
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().counted(Counter::recoveries_entered), 1U);
  EXPECT_EQ(b.node().counted(Counter::fast_exits), 0U);
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
  expect_nothing_held(bed);
}

// Messages that end among those packets are received in order, each once.
TEST(FastExit, ReceivesWhatItTakesWithItInOrder) {
  Bed bed(long_stream(dropping({3})));
  bed.node(1).host.set_control_delay(microseconds(3));
  constexpr std::uint64_t kMessages = 200;
  auto [a, b] = bed.connect({.limits = {.send_entries = 256, .receive_entries = 256}, .mtu = kMtu});
  std::vector<std::uint64_t> in_order;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    b.receive(i, {{i * 1000, 1000}});
    a.post({.id = i, .kind = WorkKind::send, .local = {{i * 1000, 900}}, .signaled = i + 1 == kMessages});
    in_order.push_back(i);
  }
  ASSERT_TRUE(bed.run());
  EXPECT_GE(b.node().counted(Counter::fast_exits), 1U);
  EXPECT_EQ(ids(drain(b.node())), in_order);
  for (std::uint64_t i = 0; i < kMessages; ++i) EXPECT_TRUE(same_bytes(a, {i * 1000, 900}, b, {i * 1000, 900})) << i;
  expect_nothing_held(bed);
}

TEST(Recovery, IsEnteredAndLeftByBothSidesOfARequest) {
  Bed bed(srnic_bed(dropping({2})));
  for (const std::size_t h : {0U, 1U}) bed.node(h).host.set_control_delay(microseconds(2));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 8 * kMtu}}, .remote = 8192});
  while (!a.context().requests_lost) bed.world().run_until(bed.now() + nanoseconds(10));
  EXPECT_GT(b.context().srnic.in.run, 0U);
  EXPECT_FALSE(a.context().responses_lost);
  bed.world().run_until(bed.now() + microseconds(3));
  EXPECT_EQ(a.node().device().retransmission().records(), 1U) << "requests that go out";
  EXPECT_EQ(b.node().device().retransmission().records(), 1U) << "requests that come in";
  EXPECT_GT(host::memory_use(a.node().device()).recovery, 0U);
  EXPECT_GT(host::memory_use(b.node().device()).recovery, 0U);
  ASSERT_TRUE(bed.run());
  for (const Node& node : {std::cref(a.node()), std::cref(b.node())}) {
    EXPECT_EQ(node.counted(Counter::recoveries_entered), 1U);
    EXPECT_EQ(node.counted(Counter::recoveries_left), 1U);
  }
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 1U) << "exactly what was lost";
  expect_nothing_held(bed);
}

TEST(Recovery, IsEnteredAndLeftByBothSidesOfAResponse) {
  // The request is packet 1, its ACK may be packet 2.
  Bed bed(srnic_bed(dropping({5})));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::read, .local = {{0, 8 * kMtu}}, .remote = 8192});
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().counted(Counter::recoveries_entered), 1U);
  EXPECT_EQ(b.node().counted(Counter::recoveries_entered), 1U);
  EXPECT_EQ(b.node().counted(Counter::read_responses_resent), 1U) << "exactly what was lost";
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 0U) << "nothing is asked for again";
  EXPECT_TRUE(same_bytes(a, {0, 8 * kMtu}, b, {8192, 8 * kMtu}));
  expect_nothing_held(bed);
}

// The software leaves when all is acknowledged, and new losses are told of while its word is on the way to the card.
// The card must not take it for the end of the new ones.
TEST(Recovery, ThatBeginsAnewWhileItIsLeftIsNotForgotten) {
  for (std::uint64_t second = 4; second <= 40; ++second) {
    BedSpec spec = srnic_bed(dropping({2, second}));
    spec.card.window_packets = 4;  // so that ACKs come all the time
    Bed bed(spec);
    for (const std::size_t h : {0U, 1U}) bed.node(h).host.set_control_delay(microseconds(4));
    auto [a, b] = bed.connect({.mtu = kMtu});
    a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 40 * kMtu}}, .remote = 32 * 1024});
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
    expect_nothing_held(bed);
  }
}

TEST(Recovery, HoldsNothingForAQueuePairThatIsGone) {
  sim::FaultPlan hole = dropping({2});
  hole.holes = {{microseconds(2), kNever}};
  Bed bed(srnic_bed(hole));
  auto [a, b] = bed.connect({.mtu = kMtu, .ack_timeout = 1, .retry_count = 1});
  b.receive(1, {{0, 4096}});
  b.receive(2, {{4096, 4096}});
  for (std::uint64_t id = 1; id <= 2; ++id) a.post({.id = id, .kind = WorkKind::send, .local = {{0, 4 * kMtu}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(IdAndStatus(1, Status::retry_exceeded), IdAndStatus(2, Status::flushed)));
  EXPECT_EQ(a.node().device().retransmission().bytes(), 0U);
  EXPECT_GT(b.node().device().card().reorder_notes.used(), 0U) << "the responder does not know yet";
  EXPECT_EQ(b.go_to(nic::QpState::error), host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().device().retransmission().bytes(), 0U);
  EXPECT_EQ(host::memory_use(b.node().device()).recovery, 0U);
  EXPECT_EQ(b.node().device().card().reorder_notes.used(), 0U);
  EXPECT_THAT(results(drain(b.node())), ElementsAre(IdAndStatus(1, Status::flushed), IdAndStatus(2, Status::flushed)));
}

}  // namespace
}  // namespace weft::test
