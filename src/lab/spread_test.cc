// Means and intervals over seeds.
#include "lab/spread.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(Spread, OneValueHasNoInterval) {
  const std::vector<double> one{7};
  const Spread s = spread_of(one);
  EXPECT_EQ(s.mean, 7);
  EXPECT_EQ(s.half, 0);
  EXPECT_EQ(s.count, 1U);
}

// 9, 10, 11: standard deviation 1, standard error 1 / sqrt(3), t = 4.303.
TEST(Spread, TheIntervalIsStudents) {
  const std::vector<double> three{11, 9, 10};
  const Spread s = spread_of(three);
  EXPECT_DOUBLE_EQ(s.mean, 10);
  EXPECT_NEAR(s.half, 2.484, 0.001);
  EXPECT_EQ(s.least, 9);
  EXPECT_EQ(s.most, 11);
}

TEST(Spread, ManyValuesHaveTheNormalInterval) {
  std::vector<double> many;
  for (int i = 0; i < 100; ++i) many.push_back(i % 2);
  EXPECT_NEAR(spread_of(many).half, 1.96 * 0.50252 / 10, 0.0001);
}

TEST(Spread, WhatIsAlwaysTheSameHasNone) {
  const std::vector<double> same{0.1, 0.1, 0.1};
  EXPECT_EQ(spread_of(same).half, 0);
  EXPECT_EQ(spread_of(std::vector<double>(10, 1)).mean, 1);
}

}  // namespace
}  // namespace weft::lab
