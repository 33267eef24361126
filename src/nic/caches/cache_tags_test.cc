// What is on chip, and what makes room.
#include "nic/caches/cache_tags.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

using Found = CacheTags::Found;

CacheTags cache(std::uint32_t entries, std::uint32_t ways, Replacement replacement, std::uint32_t things = 1024) {
  return {entries, {ways, replacement}, things};
}

TEST(CacheTags, WithoutEntriesThereIsNone) { EXPECT_FALSE(cache(0, 0, Replacement::lru).enabled()); }

TEST(CacheTags, KeepsWhatFits) {
  CacheTags c = cache(4, 0, Replacement::lru);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(c.touch(i), Found::miss);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(c.touch(i), Found::hit);
  EXPECT_EQ(c.touch(4), Found::miss_and_eviction);
}

TEST(CacheTags, TheOneNotUsedForLongestMakesRoom) {
  CacheTags c = cache(2, 0, Replacement::lru);
  (void)c.touch(1);
  (void)c.touch(2);
  (void)c.touch(1);
  EXPECT_EQ(c.touch(3), Found::miss_and_eviction);
  EXPECT_EQ(c.touch(1), Found::hit);
  EXPECT_EQ(c.touch(2), Found::miss_and_eviction);
}

TEST(CacheTags, ADroppedOneMakesRoomFirst) {
  for (const Replacement replacement : {Replacement::lru, Replacement::random}) {
    CacheTags c = cache(4, 0, replacement);
    for (std::uint32_t i = 0; i < 4; ++i) (void)c.touch(i);
    c.drop(2);
    EXPECT_EQ(c.line_of(2), kNone);
    EXPECT_EQ(c.touch(9), Found::miss);
    for (const std::uint32_t i : {0U, 1U, 3U, 9U}) EXPECT_EQ(c.touch(i), Found::hit);
  }
}

TEST(CacheTags, SetsAreApart) {
  CacheTags c = cache(4, 2, Replacement::lru);  // two sets: even and odd
  for (const std::uint32_t even : {0U, 2U, 4U}) (void)c.touch(even);
  EXPECT_EQ(c.touch(1), Found::miss) << "the other set is empty";
  EXPECT_EQ(c.touch(0), Found::miss_and_eviction);
}

double hit_rate(CacheTags& c, std::uint32_t things) {
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
TEST(CacheTags, InACircleChanceFallsGraduallyAndAgeAtOnce) {
  CacheTags lru = cache(400, 0, Replacement::lru), random = cache(400, 0, Replacement::random);
  EXPECT_EQ(hit_rate(lru, 401), 0);
  for (const std::uint32_t things : {450U, 600U, 1000U}) {
    CacheTags c = cache(400, 0, Replacement::random);
    double h = 0.5;
    for (int i = 0; i < 200; ++i) h = std::exp(-static_cast<double>(things) * (1 - h) / 400);
    EXPECT_NEAR(hit_rate(c, things), h, 0.03) << things;
  }
  EXPECT_EQ(hit_rate(random, 400), 1);
}

TEST(CacheTags, TheSameSeedMakesTheSameChoices) {
  CacheTags a = cache(64, 0, Replacement::random), b = cache(64, 0, Replacement::random);
  for (std::uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(a.touch(i * 37 % 200), b.touch(i * 37 % 200));
}

}  // namespace
}  // namespace weft::nic
