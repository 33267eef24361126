#include "cli/connections/histogram.h"

#include <gtest/gtest.h>

namespace weft::connections {
namespace {

TEST(ConnectionTimes, PercentilesAreRightWithinThreePerCent) {
  Histogram h;
  EXPECT_EQ(h.percentile(0.5), 0);
  for (std::uint64_t value = 1; value <= 100'000; ++value) h.add(value);
  EXPECT_EQ(h.count(), 100'000U);
  for (const double share : {0.01, 0.5, 0.9, 0.99, 1.0}) {
    EXPECT_NEAR(h.percentile(share), share * 100'000, share * 100'000 * 0.03) << share;
  }
}

TEST(ConnectionTimes, EveryPowerOfTwoHasItsPlace) {
  for (int bit = 0; bit < 44; ++bit) {
    for (const std::uint64_t value : {std::uint64_t{1} << bit, (std::uint64_t{2} << bit) - 1}) {
      Histogram h;
      h.add(value);
      EXPECT_NEAR(h.percentile(0.99), static_cast<double>(value), static_cast<double>(value) * 0.03) << value;
    }
  }
  Histogram h;
  h.add(~std::uint64_t{0});  // longer than any run: counted with the longest
  EXPECT_GT(h.percentile(0.5), 1e13);
}

TEST(ConnectionTimes, FewLateOnesAreTheLastPercent) {
  Histogram h;
  for (int i = 0; i < 990; ++i) h.add(10);
  for (int i = 0; i < 10; ++i) h.add(1'000'000);
  EXPECT_EQ(h.percentile(0.5), 10);
  EXPECT_EQ(h.percentile(0.99), 10);
  EXPECT_NEAR(h.percentile(0.999), 1e6, 3e4);
  h.clear();
  EXPECT_EQ(h.count(), 0U);
  EXPECT_EQ(h.percentile(0.99), 0);
}

}  // namespace
}  // namespace weft::connections
