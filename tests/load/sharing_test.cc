// Connections that share a way share it alike, and none starves: those to one host, and those of several hosts to one.
#include <algorithm>

#include <gtest/gtest.h>

#include "load/scene.h"

namespace weft::test {
namespace {

using nic::Dialect;
using nic::WorkKind;

TEST(Sharing, ConnectionsToOneHostGetTheSame) {
  for (const Dialect dialect : {Dialect::srnic, Dialect::roce}) {
    for (const std::uint32_t connections : {16U, 128U, 1024U}) {
      for (const WorkKind kind : {WorkKind::write, WorkKind::read}) {
        const Load load{.dialect = dialect, .kind = kind, .bytes = 4096, .connections = connections, .messages = 256};
        SCOPED_TRACE(load.text());
        const Loaded seen = run(load);
        EXPECT_EQ(seen.failed, 0U);
        EXPECT_GE(seen.least_share, 0.9);
        EXPECT_LE(seen.most_share, 1.1);
      }
    }
  }
}

// A connection whose receiver is never ready, and one whose queue pair is gone over there, have as much under way as
// the peer's window holds, and wait for ever. Others to the same peer go on.
TEST(Sharing, WhoWaitsForEverKeepsNobodyWaiting) {
  for (const Dialect dialect : {Dialect::srnic, Dialect::roce}) {
    BedSpec spec = speaking(dialect);
    spec.card.target_delay = microseconds(200);
    spec.card.srnic_window_packets = 1024;
    spec.arena_bytes = 1 << 20;
    Bed bed(spec);
    const QpSpec patient{.mtu = 256, .ack_timeout = 0, .rnr_retry = 7, .min_rnr_timer = 20};
    auto not_ready = bed.connect(patient), gone = bed.connect(patient), other = bed.connect(patient);
    not_ready.a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 512 * 1024}}});
    ASSERT_EQ(gone.b.go_to(nic::QpState::error), host::Error::none);
    gone.a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 512 * 1024}}, .remote = 0});
    bed.world().run_until(bed.now() + milliseconds(50));
    for (std::uint64_t id = 1; id <= 8; ++id) {
      other.a.post({.id = id, .kind = WorkKind::write, .local = {{0, 64 * 1024}}, .remote = 512 * 1024});
    }
    bed.world().run_until(bed.now() + milliseconds(20));
    EXPECT_EQ(drain(other.a.node()).size(), 8U) << (dialect == Dialect::srnic ? "srnic" : "roce");
  }
}

// Four hosts write to one. Nothing is lost; then one packet of a thousand is.
TEST(FanIn, DoesNotCollapse) {
  for (const Dialect dialect : {Dialect::srnic, Dialect::roce}) {
    const Load load{.dialect = dialect, .bytes = 4096, .connections = 64, .messages = 64, .hosts = 5};
    SCOPED_TRACE(load.text());
    const Loaded seen = run(load);
    EXPECT_EQ(seen.failed, 0U);
    EXPECT_EQ(seen.again, 0U);
    EXPECT_GE(seen.of_the_wire, 0.9);
    const auto [first, last] = std::minmax_element(seen.ends.begin(), seen.ends.end());
    EXPECT_GE(static_cast<double>(*first), 0.7 * static_cast<double>(*last)) << "no host starves";
  }
  Load lossy{.bytes = 4096, .connections = 64, .messages = 64, .hosts = 5};
  lossy.faults = {.loss = 0.001};
  const Loaded seen = run(lossy);
  EXPECT_EQ(seen.failed, 0U);
  EXPECT_GE(seen.of_the_wire, 0.9);
  EXPECT_LE(seen.again, seen.sent / 500);
}

}  // namespace
}  // namespace weft::test
