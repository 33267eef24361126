// Where values stand on an axis.
#include "lab/report/ruler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::lab {
namespace {

std::vector<std::string> labels(const Ruler& ruler) {
  std::vector<std::string> all;
  for (const Tick& tick : ruler.ticks()) all.push_back(tick.label);
  return all;
}

TEST(Ruler, EndsAreAtBothEnds) {
  for (const Scale scale : {Scale::linear, Scale::log2, Scale::log10}) {
    const Ruler ruler(scale, 4, 64);
    EXPECT_NEAR(ruler.place(4), 0, 1e-12);
    EXPECT_NEAR(ruler.place(64), 1, 1e-12);
  }
  EXPECT_NEAR(Ruler(Scale::log2, 4, 64).place(16), 0.5, 1e-12);
  EXPECT_NEAR(Ruler(Scale::linear, 4, 64).place(34), 0.5, 1e-12);
}

TEST(Ruler, TicksAreRound) {
  EXPECT_THAT(labels(Ruler(Scale::linear, 0, 100)), testing::ElementsAre("0", "20", "40", "60", "80", "100"));
  EXPECT_THAT(labels(Ruler(Scale::linear, 0, 0.1)), testing::ElementsAre("0", "0.02", "0.04", "0.06", "0.08", "0.1"));
  EXPECT_THAT(labels(Ruler(Scale::log2, 128, 1024)), testing::ElementsAre("128", "256", "512", "1024"));
  EXPECT_THAT(labels(Ruler(Scale::log10, 1, 1000)), testing::ElementsAre("1", "10", "100", "1000"));
  EXPECT_THAT(labels(Ruler(Scale::log2, 512, 4096, {}, Kind::size)), testing::ElementsAre("512", "1K", "2K", "4K"));
}

TEST(Ruler, ThereAreNeverManyTicks) {
  for (double most = 1e-6; most < 1e12; most *= 3.7)
    EXPECT_LE(Ruler(Scale::linear, 0, most).ticks().size(), 8U) << most;
  EXPECT_LE(Ruler(Scale::log2, 1, 1 << 30).ticks().size(), 10U);
}

TEST(Ruler, StepsAreEquallyFarApart) {
  const Ruler ruler(Scale::steps, 0, 5, {{0, "0", {}}, {0.1, "a", {}}, {1, "b", {}}, {5, "c", {}}});
  EXPECT_NEAR(ruler.place(0), 0, 1e-12);
  EXPECT_NEAR(ruler.place(0.1), 1.0 / 3, 1e-12);
  EXPECT_NEAR(ruler.place(1), 2.0 / 3, 1e-12);
  EXPECT_NEAR(ruler.place(3), 2.5 / 3, 1e-12);
  EXPECT_NEAR(ruler.place(5), 1, 1e-12);
}

TEST(Ruler, NothingIsNoProblem) {
  EXPECT_FALSE(Ruler(Scale::linear, 0, 0).ticks().empty());
  EXPECT_FALSE(Ruler(Scale::log2, 0, 0).ticks().empty());
  EXPECT_EQ(Ruler(Scale::steps, 0, 0, {{0, "0", {}}}).place(0), 0.5);
}

}  // namespace
}  // namespace weft::lab
