#include "world/sim/link.h"

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

constexpr std::uint64_t kGbit = 1'000'000'000;

TEST(Link, TakesItsTimeToThePicosecond) {
  Link link({.bits_per_second = 100 * kGbit, .delay = microseconds(1)}, {}, {});
  EXPECT_EQ(link.duration(1), 80);
  EXPECT_EQ(link.carry(0, 1'000), 80'000 + microseconds(1));
  EXPECT_EQ(link.free_at(), 80'000);
  // Offered while the first is on its way out: it waits.
  EXPECT_EQ(link.carry(10, 500), 120'000 + microseconds(1));
  // Offered when the wire is long free: at once.
  EXPECT_EQ(link.carry(microseconds(5), 84), microseconds(5) + 84 * 80 + microseconds(1));
  EXPECT_EQ(link.counters().packets, 3u);
  EXPECT_EQ(link.counters().bytes, 1'584u);
}

TEST(Link, KnowsTheUsualRatesExactly) {
  for (const auto& [gbits, byte_time] :
       {std::pair{10, 800}, {25, 320}, {40, 200}, {50, 160}, {100, 80}, {200, 40}, {400, 20}, {800, 10}}) {
    Link link({.bits_per_second = static_cast<std::uint64_t>(gbits) * kGbit}, {}, {});
    EXPECT_EQ(link.duration(4'178), 4'178 * byte_time) << gbits;
  }
}

TEST(Link, RoundsOtherRatesUp) {
  Link link({.bits_per_second = 3 * kGbit}, {}, {});
  EXPECT_EQ(link.duration(1), 2'667);  // 2666.67
  EXPECT_EQ(link.duration(3), 8'000);
  EXPECT_EQ(link.duration(0), 0);
}

TEST(Link, WithoutARateStillDeliversOneAfterTheOther) {
  Link link({.bits_per_second = 0, .delay = 100}, {}, {});
  EXPECT_EQ(link.carry(50, 4'096), 150);
  EXPECT_EQ(link.carry(50, 4'096), 151);
  EXPECT_EQ(link.carry(50, 64), 152);
  EXPECT_EQ(link.carry(60, 64), 160);
}

TEST(Link, LetsTheOvertakenFollow) {
  Link link({.bits_per_second = 100 * kGbit, .delay = 100}, {}, {});
  const Time passed = link.carry(0, 100);
  EXPECT_EQ(link.next_arrival(0), passed + 1);
  EXPECT_EQ(link.next_arrival(0), passed + 2);
  EXPECT_EQ(link.next_arrival(passed + 50), passed + 50);
}

}  // namespace
}  // namespace weft::sim
