#include <gtest/gtest.h>

#include "cli/bench/samples.h"
#include "cli/bench/side_by_side.h"

namespace weft::cli {
namespace {

Samples samples(const std::vector<std::optional<double>>& rounds) {
  Samples out;
  for (const auto& value : rounds) out.add(value);
  return out;
}

TEST(Comparison, MedianOfWhatRan) {
  EXPECT_EQ(samples({}).median(), std::nullopt);
  EXPECT_EQ(samples({std::nullopt}).median(), std::nullopt);
  EXPECT_EQ(samples({3, 1, 2}).median(), 2);
  EXPECT_EQ(samples({4, 1, std::nullopt, 2, 3}).median(), 2.5);
  EXPECT_EQ(samples({4, std::nullopt}).failed(), 1);
}

// A machine that is half as fast from the third round on. The medians of both would be of different halves.
TEST(Comparison, RatioIsOfTheSameRounds) {
  const Samples a = samples({2, 2, 4, 4, std::nullopt}), b = samples({1, 1, 2, 2, 2});
  EXPECT_EQ(Samples::ratio(a, b), 2);
  EXPECT_EQ(Samples::ratio(samples({2, std::nullopt}), samples({std::nullopt, 1})), std::nullopt);
  EXPECT_EQ(Samples::ratio(samples({1}), samples({0})), std::nullopt);
}

TEST(Comparison, WhatIsComparedStandsTogether) {
  const auto named = [](const char* name, std::vector<Measure::Beside> besides = {}) {
    return Measure{.name = name, .unit = {}, .what = {}, .besides = std::move(besides), .run = {}};
  };
  std::string order;
  for (const Measure& m : side_by_side({named("a", {{"x", 1}, {"gone", 1}}), named("b", {{"y", 1}, {"x", 1}}),
                                        named("c"), named("x"), named("y"), named("z")})) {
    order += m.name;
  }
  EXPECT_EQ(order, "axbycz");
}

}  // namespace
}  // namespace weft::cli
