// Packets are placed in any order; what programs see keeps its order.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

constexpr Time kSlow = microseconds(30);  // a software that takes its time: the card alone decides what is placed

struct Ends {
  Endpoint a, b;
};
Ends connect(Bed& bed, bool shared, QpSpec spec = {.mtu = kMtu}, std::uint32_t entries = 16) {
  QpSpec receiver = spec;
  if (shared) receiver.srq = *bed.node(1).device().create_srq(bed.node(1).domain, entries, 4);
  const Connection c = bed.connect(spec, receiver);
  return {c.a, c.b};
}

class SendsOutOfOrder : public testing::TestWithParam<bool> {};  // into a shared receive queue?

// The first packet of the first message is lost. All that follow lie where they belong before it has come again, and
// none is received before it.
TEST_P(SendsOutOfOrder, FindTheirReceivesByNumber) {
  Bed bed(srnic_bed(dropping({1})));
  bed.node(1).host.set_control_delay(kSlow);
  const auto [a, b] = connect(bed, GetParam());
  constexpr std::uint64_t kMessages = 6;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    b.receive(i, {{i * 1000, 100}, {i * 1000 + 200, 700}});
    a.post({.id = i, .kind = WorkKind::send, .local = {{i * 1000, 600}}});
  }
  const auto arrived = [&a = a, &b = b](std::uint64_t i) {
    return same_bytes(a, {i * 1000, 100}, b, {i * 1000, 100}) &&
           same_bytes(a, {i * 1000 + 100, 500}, b, {i * 1000 + 200, 500});
  };
  bed.world().run_until(microseconds(20));
  EXPECT_EQ(b.node().cq->waiting(), 0U);
  for (std::uint64_t i = 1; i < kMessages; ++i) EXPECT_TRUE(arrived(i)) << i;
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(b.node())), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(arrived(0));
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 1U);
  expect_nothing_held(bed);
}

TEST_P(SendsOutOfOrder, WhicheverPacketIsLost) {
  for (std::uint64_t lost = 1; lost <= 12; ++lost) {
    for (const std::uint64_t other : {lost, lost + 1, lost + 5}) {
      Bed bed(srnic_bed(dropping({lost, other})));
      bed.node(1).host.set_control_delay(microseconds(lost % 4));
      const auto [a, b] = connect(bed, GetParam());
      for (std::uint64_t i = 0; i < 4; ++i) {
        b.receive(i, {{i * 1000, 900}});
        a.post({.id = i,
                .kind = i == 2 ? WorkKind::write_immediate : WorkKind::send,
                .local = {{i * 1000, 600}},
                .remote = 20'000,
                .immediate = 7});
      }
      ASSERT_TRUE(bed.run());
      const auto log = drain(b.node());
      ASSERT_THAT(ids(log), ElementsAre(0, 1, 2, 3)) << lost;
      EXPECT_EQ(log[2].kind, nic::CompletionKind::receive_write_immediate);
      EXPECT_EQ(log[2].immediate, 7U);
      for (const std::uint64_t i : {0U, 1U, 3U}) EXPECT_TRUE(same_bytes(a, {i * 1000, 600}, b, {i * 1000, 600}));
      EXPECT_TRUE(same_bytes(a, {2000, 600}, b, {20'000, 600}));
      expect_nothing_held(bed);
    }
  }
}

// Receives are missing for the later messages while the first is being recovered.
TEST_P(SendsOutOfOrder, WaitForReceivesInTheMiddleOfRecovery) {
  for (std::uint64_t posted = 0; posted <= 6; ++posted) {
    Bed bed(srnic_bed(dropping({1})));
    bed.node(1).host.set_control_delay(microseconds(3));
    const auto [a, b] = connect(bed, GetParam());
    for (std::uint64_t i = 0; i < posted; ++i) b.receive(i, {{i * 1000, 900}});
    for (std::uint64_t i = 0; i < 6; ++i) a.post({.id = i, .kind = WorkKind::send, .local = {{i * 1000, 600}}});
    bed.world().run_until(milliseconds(1));
    EXPECT_THAT(drain(b.node()), testing::SizeIs(posted));
    for (std::uint64_t i = posted; i < 6; ++i) b.receive(i, {{i * 1000, 900}});
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(drain(b.node()), testing::SizeIs(6 - posted));
    EXPECT_THAT(ids(drain(a.node())), ElementsAre(0, 1, 2, 3, 4, 5));
    for (std::uint64_t i = 0; i < 6; ++i) EXPECT_TRUE(same_bytes(a, {i * 1000, 600}, b, {i * 1000, 600})) << i;
    expect_nothing_held(bed);
  }
}
INSTANTIATE_TEST_SUITE_P(OwnAndShared, SendsOutOfOrder, testing::Bool(),
                         [](const auto& test) { return test.param ? "Shared" : "Own"; });

// Four entries for six messages, and the first message comes last: if the others took all entries, it could never end,
// and they could not either.
TEST(SharedReceiveQueue, KeepsAnEntryForTheMessageBeforeThoseThatAreHere) {
  Bed bed(srnic_bed(dropping({1, 2, 3})));  // all of the first message
  bed.node(1).host.set_control_delay(microseconds(5));
  const auto [a, b] = connect(bed, true, {.mtu = kMtu}, 4);
  for (std::uint64_t i = 0; i < 4; ++i) b.receive(i, {{i * 1000, 900}});
  for (std::uint64_t i = 0; i < 6; ++i) a.post({.id = i, .kind = WorkKind::send, .local = {{i * 1000, 600}}});
  bed.world().run_until(milliseconds(10));
  ASSERT_THAT(ids(drain(b.node())), ElementsAre(0, 1, 2, 3));
  for (std::uint64_t i = 4; i < 6; ++i) b.receive(i, {{i * 1000, 900}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(b.node())), ElementsAre(4, 5));
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_TRUE(same_bytes(a, {i * 1000, 600}, b, {i * 1000, 600})) << i;
  expect_nothing_held(bed);
}

// No note is left for the packet that all others wait for: it must not need one.
TEST(EarlyNotesAllInUse, DoNotStopTheOldestPacket) {
  for (const WorkKind kind : {WorkKind::send, WorkKind::fetch_add, WorkKind::read, WorkKind::write_immediate}) {
    for (const std::uint64_t lost : {1U, 2U, 3U, 6U, 9U}) {
      BedSpec spec = srnic_bed(dropping({lost}));
      spec.card.reorder_notes = 2;
      Bed bed(spec);
      for (const std::size_t h : {0U, 1U}) bed.node(h).host.set_control_delay(microseconds(2));
      const auto [a, b] = connect(bed, false, {.mtu = kMtu, .max_reads = 8, .max_peer_reads = 8});
      const std::uint64_t before = b.node().word(64);
      for (std::uint64_t i = 0; i < 8; ++i) {
        b.receive(i, {{32'768 + i * 256, 64}});
        a.post({.id = i, .kind = kind, .local = {{i * 64, 8}}, .remote = 64, .compare_add = 1});
      }
      ASSERT_TRUE(bed.run());
      EXPECT_THAT(ids(drain(a.node())), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
      EXPECT_TRUE(kind != WorkKind::fetch_add || b.node().word(64) == before + 8);
      expect_nothing_held(bed);
    }
  }
}

// A key is invalidated when its message is received, and not when it arrives.
TEST(SendWithInvalidate, TakesEffectInItsTurn) {
  Bed bed(srnic_bed(dropping({1})));
  bed.node(1).host.set_control_delay(kSlow);
  const auto [a, b] = connect(bed, false);
  Node& there = b.node();
  const wire::Key window = *there.device().create_window(there.domain, 2);
  ASSERT_EQ(b.post({.kind = WorkKind::bind_window,
                    .signaled = false,
                    .binding = {window, there.arena.key, there.arena.address, 64, nic::Rights::remote_read, window}}),
            host::Error::none);
  const auto bound = [&] { return there.device().card().memory.find(window)->bound; };
  b.receive(1, {{0, 64}});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 4096});
  a.post({.id = 2, .kind = WorkKind::send_invalidate, .local = {{64, 64}}, .invalidate = window});
  bed.world().run_until(microseconds(20));
  EXPECT_TRUE(same_bytes(a, {64, 64}, b, {0, 64})) << "it is here,";
  EXPECT_TRUE(bound()) << "and its turn has not come";
  ASSERT_TRUE(bed.run());
  EXPECT_FALSE(bound());
  const auto log = drain(there);
  ASSERT_THAT(results(log), ElementsAre(IdAndStatus(1, Status::success)));
  EXPECT_TRUE(log[0].has_invalidated);
  expect_nothing_held(bed);
}

// A WRITE that may not be done is refused when its turn comes; what was behind it and is here stays, unseen.
TEST(Refusal, WaitsForItsTurn) {
  Bed bed(srnic_bed(dropping({1})));
  const auto [a, b] = connect(bed, false);
  b.receive(9, {{0, 64}});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 4096});
  a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 1 << 30});  // nowhere
  a.post({.id = 3, .kind = WorkKind::send, .local = {{0, 64}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::remote_access),
                          IdAndStatus(3, Status::flushed)));
  EXPECT_TRUE(same_bytes(a, {0, 64}, b, {4096, 64}));
  EXPECT_THAT(results(drain(b.node())), ElementsAre(IdAndStatus(9, Status::flushed)));
  EXPECT_EQ(b.node().device().card().reorder_notes.used(), 0U);
}

}  // namespace
}  // namespace weft::test
