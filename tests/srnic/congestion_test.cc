// Marks of congested switches, and what senders make of them.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::WorkKind;

struct Seen {
  std::uint32_t window_units;
  std::uint64_t marked;
};

Seen send_through(double share, nic::CongestionControl control) {
  BedSpec spec = srnic_bed({.ecn = share});
  spec.card.congestion = control;
  spec.card.window_packets = 64;
  spec.card.acknowledge_every = 8;
  spec.arena_bytes = 1 << 20;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 1000 * kMtu}}, .remote = 512 * 1024});
  EXPECT_TRUE(bed.run());
  EXPECT_TRUE(same_bytes(a, {0, 1000 * kMtu}, b, {512 * 1024, 1000 * kMtu}));
  expect_nothing_held(bed);
  return {a.context().window, b.node().counted(Counter::ecn_marked_pkts)};
}

TEST(Congestion, MarksShrinkTheWindowOfDctcp) {
  const Seen none = send_through(0, nic::CongestionControl::dctcp);
  const Seen some = send_through(0.1, nic::CongestionControl::dctcp);
  const Seen all = send_through(1, nic::CongestionControl::dctcp);
  EXPECT_EQ(none.window_units, 64U * 16);
  EXPECT_EQ(none.marked, 0U);
  EXPECT_GT(some.marked, 30U);
  EXPECT_LT(some.window_units, none.window_units);
  EXPECT_LT(all.window_units, some.window_units);
}

// Who does nothing about marks does not ask for them: switches drop such packets instead.
TEST(Congestion, WithoutControlPacketsAreNotMarkable) {
  for (const auto control : {nic::CongestionControl::none, nic::CongestionControl::dctcp}) {
    BedSpec spec = srnic_bed();
    spec.card.congestion = control;
    Bed bed(spec);
    auto [a, b] = bed.connect();
    EXPECT_EQ(a.context().marks.traffic_class & 3, control == nic::CongestionControl::none ? 0 : 2);
  }
  EXPECT_EQ(send_through(1, nic::CongestionControl::none).window_units, 0U) << "it keeps none";
}

}  // namespace
}  // namespace weft::test
