#include "world/random.h"

#include <array>
#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace weft::world {
namespace {

// The generator is part of what a seed means: these numbers are the same on every machine, for ever. They are
// splitmix64's and xoshiro256**'s own, for seed 0, computed from the authors' definition.
TEST(Random, DrawsTheSameNumbersEverywhere) {
  EXPECT_EQ(mix64(kGolden), 0xE220'A839'7B1D'CDAFu);
  EXPECT_EQ(mix64(2 * kGolden), 0x6E78'9E6A'A1B9'65F4u);
  Random random(0);
  const std::array<std::uint64_t, 4> first{random.next(), random.next(), random.next(), random.next()};
  const std::array<std::uint64_t, 4> expected{0x99EC'5F36'CB75'F2B4, 0xBF6E'1F78'4956'452A, 0x1A5F'849D'4933'E6E0,
                                              0x6AA5'94F1'262D'2D2C};
  EXPECT_EQ(first, expected);
}

TEST(Random, BelowIsUniform) {
  Random random(1);
  constexpr std::uint64_t kSides = 7, kThrows = 70'000;
  std::array<std::uint64_t, kSides> seen{};
  for (std::uint64_t i = 0; i < kThrows; ++i) ++seen[random.below(kSides)];
  for (const std::uint64_t count : seen) {  // 10 000 each, standard deviation 93
    EXPECT_GT(count, 9'500u);
    EXPECT_LT(count, 10'500u);
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
}

// 3 * 2^62 does not divide 2^64: without rejection, a third of the values would come twice as often as the rest.
TEST(Random, BelowHasNoBiasForLargeNumbers) {
  Random random(2);
  constexpr std::uint64_t kMany = 3ull << 62;
  int low = 0;
  for (int i = 0; i < 30'000; ++i) low += random.below(kMany) < kMany / 3;
  EXPECT_NEAR(low, 10'000, 500);
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(3);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(random.between(5, 5), 5);
  (void)random.between(INT64_MIN, INT64_MAX);  // all there are
}

TEST(Random, ChanceIsWhatItSays) {
  Random random(4);
  int hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += random.chance(0.01);
  EXPECT_NEAR(hits, 1'000, 160);
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(random.chance(0.0));
    EXPECT_TRUE(random.chance(1.0));
  }
  EXPECT_FALSE(Chance(0).possible());
  EXPECT_FALSE(Chance(-1).possible());
  EXPECT_TRUE(Chance(1e-18).possible());
  static_assert(!Chance(0.5).hit(1ull << 63) && Chance(0.5).hit((1ull << 63) - 1));
}

TEST(Random, AForkIsAStreamOfItsOwn) {
  Random parent(5);
  Random early = parent.fork(1);
  (void)parent.next();
  Random late = parent.fork(1);
  EXPECT_EQ(early.next(), late.next());  // whatever the parent drew meanwhile
  EXPECT_NE(parent.fork(1).next(), parent.fork(2).next());
  EXPECT_NE(Random(5).next(), parent.fork(0).next());
  EXPECT_NE(Random(6).fork(1).next(), parent.fork(1).next());
}

}  // namespace
}  // namespace weft::world
