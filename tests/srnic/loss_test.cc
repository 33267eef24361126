// Many messages over bad wires: all data right, little sent twice, nothing held at the end.
#include <cstdio>

#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;

struct Traffic {
  std::uint64_t messages = 300;
  std::uint32_t bytes = 4 * kMtu - 24;
};

struct Cost {
  std::uint64_t lost = 0, again = 0;
};

// SENDs, WRITEs and READs in turn, each with a place of its own, all posted as soon as there is room.
Cost cost_of(BedSpec spec, const Traffic& traffic, Time control_delay) {
  spec.arena_bytes = traffic.messages * 4096;
  spec.cq_entries = 1024;
  Bed bed(spec);
  for (Node& node : bed.nodes()) node.host.set_control_delay(control_delay);
  const auto [a, b] = bed.connect({.limits = {.send_entries = 512, .receive_entries = 512}, .mtu = kMtu});
  const auto place = [](std::uint64_t i) { return i * 4096; };
  constexpr WorkKind kKinds[] = {WorkKind::send, WorkKind::write, WorkKind::read};
  std::vector<std::uint64_t> in_order;
  std::vector<bool> right(traffic.messages);
  for (std::uint64_t i = 0; i < traffic.messages; ++i) {
    if (i % 3 == 0) b.receive(i, {{place(i), traffic.bytes}});
    EXPECT_EQ(a.post({.id = i, .kind = kKinds[i % 3], .local = {{place(i), traffic.bytes}}, .remote = place(i)}),
              host::Error::none);
    in_order.push_back(i);
  }
  const bool done = bed.run();
  EXPECT_TRUE(done);
  const auto log = drain(a.node());
  EXPECT_EQ(ids(log), in_order);
  for (const nic::Completion& c : log) EXPECT_EQ(c.status, Status::success) << c.id;
  for (std::uint64_t i = 0; i < traffic.messages; ++i) {
    EXPECT_TRUE(same_bytes(a, {place(i), traffic.bytes}, b, {place(i), traffic.bytes})) << i;
  }
  expect_nothing_held(bed);
  Cost cost{.lost = bed.world().fault_counters().dropped()};
  for (const Node& node : bed.nodes()) {
    cost.again += node.counted(Counter::retransmitted_pkts) + node.counted(Counter::read_responses_resent);
  }
  return cost;
}

class LossRate : public testing::TestWithParam<double> {};
TEST_P(LossRate, LeavesAllDataRight) {
  for (const bool bitmaps : {true, false}) {
    for (const Time delay : {Time{0}, microseconds(3)}) {
      BedSpec spec = srnic_bed({.loss = GetParam()});
      spec.card.requester_bitmaps = bitmaps;
      const Cost cost = cost_of(spec, {}, delay);
      std::printf("loss %g %%, %s, control delay %g us: %llu lost, %llu sent again\n", GetParam() * 100,
                  bitmaps ? "bitmaps on both sides" : "stateless requester", static_cast<double>(delay) / 1e6,
                  static_cast<unsigned long long>(cost.lost), static_cast<unsigned long long>(cost.again));
      EXPECT_TRUE(!bitmaps || GetParam() > 0.01 || cost.again <= 2 * cost.lost + 8);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Rates, LossRate, testing::Values(0.0, 0.0001, 0.001, 0.01, 0.05, 0.1, 0.3));

class Window : public testing::TestWithParam<std::uint32_t> {};
TEST_P(Window, OfAnyWidthWorksWithLossAndReordering) {
  for (const bool bitmaps : {true, false}) {
    BedSpec spec = srnic_bed({.loss = 0.02, .reordering = 0.02});
    spec.card.window_packets = GetParam();
    spec.card.requester_bitmaps = bitmaps;
    cost_of(spec, {.messages = 90}, microseconds(1));
  }
}
INSTANTIATE_TEST_SUITE_P(Widths, Window, testing::Values(1, 2, 3, 5, 10, 31, 64, 100, 255, 300, 500, 4096));

// As over several paths: order is lost, packets are not.
TEST(Multipath, ChangesTheOrderAndLosesNothing) {
  for (const bool bitmaps : {true, false}) {
    for (const Time control_delay : {Time{0}, microseconds(5)}) {
      for (sim::FaultPlan plan :
           {sim::FaultPlan{.reordering = 0.3}, sim::FaultPlan{.jitter = 0.5}, sim::FaultPlan{.duplication = 0.3},
            sim::FaultPlan{.duplication = 0.2, .jitter = 1}}) {
        plan.jitter_max = microseconds(3);
        BedSpec spec = srnic_bed(plan);
        spec.card.requester_bitmaps = bitmaps;
        cost_of(spec, {}, control_delay);
      }
    }
  }
}

// Requesters that keep no bitmaps hold a record only while they send again, and much less of one.
TEST(StatelessRequester, IsToldExactlyWhatIsMissing) {
  BedSpec spec = srnic_bed(dropping({2, 5}));
  spec.card.requester_bitmaps = false;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 12 * kMtu}}, .remote = 8192});
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().counted(Counter::retransmitted_pkts), 2U);
  EXPECT_EQ(a.node().counted(Counter::packet_seq_err), 0U) << "no selective acknowledgement has come";
  EXPECT_TRUE(same_bytes(a, {0, 12 * kMtu}, b, {8192, 12 * kMtu}));
  expect_nothing_held(bed);
}

// Ten thousand connections between two hosts, with notes and retry queues for a few of them.
TEST(ManyConnections, RecoverAllAtOnce) {
  constexpr std::uint32_t kConnections = 10'000;
  BedSpec spec = srnic_bed({.loss = 0.005});
  spec.card.max_qps = 16'384;
  spec.card.reorder_notes = 64;
  spec.card.retry_rings = 16;
  spec.cq_entries = 2 * kConnections;
  spec.arena_bytes = kConnections * 1024;
  Bed bed(spec);
  for (Node& node : bed.nodes()) node.host.set_control_delay(microseconds(1));
  const QpSpec qp{.limits = {.send_entries = 2, .receive_entries = 2}, .mtu = kMtu, .ack_timeout = 16};
  std::vector<Connection> all;
  for (std::uint32_t i = 0; i < kConnections; ++i) {
    const Piece place{i * 1024U, 3 * kMtu};
    all.push_back(bed.connect(qp));
    all.back().b.receive(i, {place});
    const WorkKind kind = i % 3 == 0 ? WorkKind::send : i % 3 == 1 ? WorkKind::write : WorkKind::read;
    all.back().a.post({.id = i, .kind = kind, .local = {place}, .remote = place.offset});
  }
  ASSERT_TRUE(bed.run());
  const auto log = drain(bed.node(0));
  EXPECT_EQ(log.size(), kConnections);
  EXPECT_TRUE(std::ranges::all_of(log, [](const nic::Completion& c) { return c.status == Status::success; }));
  for (std::uint32_t i = 0; i < kConnections; ++i) {
    ASSERT_TRUE(same_bytes(all[i].a, {i * 1024U, 3 * kMtu}, all[i].b, {i * 1024U, 3 * kMtu})) << i;
  }
  EXPECT_GT(bed.node(0).counted(Counter::recoveries_entered), 100U);
  expect_nothing_held(bed);
}

}  // namespace
}  // namespace weft::test
