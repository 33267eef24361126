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
