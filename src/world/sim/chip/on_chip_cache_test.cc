// What is on chip, and what makes room.
#include "world/sim/chip/on_chip_cache.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using Found = OnChipCache::Found;

OnChipCache cache(std::uint32_t entries, std::uint32_t ways, Replacement replacement, std::uint32_t things = 1024) {
  return OnChipCache({.entries = entries, .ways = ways, .replacement = replacement, .entry_bytes = 256}, things, 1);
}

TEST(OnChipCache, WithoutEntriesThereIsNone) { EXPECT_FALSE(cache(0, 0, Replacement::lru).enabled()); }

TEST(OnChipCache, KeepsWhatFits) {
  OnChipCache c = cache(4, 0, Replacement::lru);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(c.touch(i), Found::miss);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(c.touch(i), Found::hit);
  EXPECT_EQ(c.touch(4), Found::miss_and_eviction);
}

TEST(OnChipCache, TheOneNotUsedForLongestMakesRoom) {
  OnChipCache c = cache(2, 0, Replacement::lru);
  (void)c.touch(1);
  (void)c.touch(2);
  (void)c.touch(1);
  EXPECT_EQ(c.touch(3), Found::miss_and_eviction);
  EXPECT_EQ(c.touch(1), Found::hit);
  EXPECT_EQ(c.touch(2), Found::miss_and_eviction);
}

TEST(OnChipCache, SetsAreApart) {
  OnChipCache c = cache(4, 2, Replacement::lru);  // two sets: even and odd
  for (const std::uint32_t even : {0U, 2U, 4U}) (void)c.touch(even);
  EXPECT_EQ(c.touch(1), Found::miss) << "the other set is empty";
  EXPECT_EQ(c.touch(0), Found::miss_and_eviction);
}

double hit_rate(OnChipCache& c, std::uint32_t things) {
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t i = 0; i < things; ++i) (void)c.touch(i);
  }
  c.hits = c.misses = 0;
  for (int round = 0; round < 50; ++round) {
    for (std::uint32_t i = 0; i < things; ++i) (void)c.touch(i);
  }
  return static_cast<double>(c.hits) / static_cast<double>(c.hits + c.misses);
}

// Round robin over more than fit: least recently used is a cliff, chance is a slope. h = exp(-N (1 - h) / C).
TEST(OnChipCache, InACircleChanceFallsGraduallyAndAgeAtOnce) {
  OnChipCache lru = cache(400, 0, Replacement::lru), random = cache(400, 0, Replacement::random);
  EXPECT_EQ(hit_rate(lru, 401), 0);
  for (const std::uint32_t things : {450U, 600U, 1000U}) {
    OnChipCache c = cache(400, 0, Replacement::random);
    double h = 0.5;
    for (int i = 0; i < 200; ++i) h = std::exp(-static_cast<double>(things) * (1 - h) / 400);
    EXPECT_NEAR(hit_rate(c, things), h, 0.03) << things;
  }
  EXPECT_EQ(hit_rate(random, 400), 1);
}

TEST(OnChipCache, TheSameSeedMakesTheSameChoices) {
  OnChipCache a = cache(64, 0, Replacement::random), b = cache(64, 0, Replacement::random);
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(a.touch(i * 37 % 200), b.touch(i * 37 % 200));
}

}  // namespace
}  // namespace weft::sim
