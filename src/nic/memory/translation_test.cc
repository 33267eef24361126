// How many entries regions need, and which of them the card remembers.
#include "nic/memory/translation.h"

#include <vector>

#include <gtest/gtest.h>

#include "nic/memory/memory.h"

namespace weft::nic {
namespace {

constexpr std::size_t kSet = TranslationCache::kWays * 16;

class Pages : public testing::Test {
 protected:
  // Looks for a page as the card does: true when it was known.
  static bool access(TranslationCache& cache, std::uint32_t slot, std::uint64_t page) {
    if (cache.find(slot, page) != nullptr) return true;
    cache.keep(slot, page, {});
    return false;
  }
  static int hits(TranslationCache& cache, std::uint32_t slot, std::uint64_t pages, std::uint64_t stride) {
    int found = 0;
    for (std::uint64_t page = 0; page < pages; page += stride) found += access(cache, slot, page) ? 1 : 0;
    return found;
  }
};

TEST(Translation, FourGigabytesOfSmallPagesTakeEightMegabytes) {
  EXPECT_EQ(table_bytes(4ULL << 30, 4096), 8ULL << 20);
  EXPECT_EQ(table_bytes(4ULL << 30, 2 << 20), 16ULL << 10);
  EXPECT_EQ(table_bytes(4ULL << 30, 1 << 30), 32u);
}

TEST(Translation, PagesAreCountedFromTheirBoundaries) {
  EXPECT_EQ(pages_of(0, 0, 12), 0u);
  EXPECT_EQ(pages_of(0, 1, 12), 1u);
  EXPECT_EQ(pages_of(0, 4096, 12), 1u);
  EXPECT_EQ(pages_of(1, 4096, 12), 2u);
  EXPECT_EQ(pages_of(4095, 2, 12), 2u);
  EXPECT_EQ(pages_of(4095, 2, 21), 1u);
  EXPECT_EQ(pages_of(~0ULL, 1, 12), 1u);  // the last byte of the space
}

TEST(Translation, PageSizesArePowersOfTwoFrom4KTo1G) {
  for (std::uint64_t bytes = 1; bytes != 0; bytes <<= 1) {
    EXPECT_EQ(is_page_size(bytes), bytes >= 4096 && bytes <= 1ULL << 30) << bytes;
  }
  EXPECT_FALSE(is_page_size(0));
  EXPECT_FALSE(is_page_size(12288));
}

TEST_F(Pages, WhatFitsIsMissedOnceAndFoundEverAfter) {
  TranslationCache cache(16 * kSet);
  ASSERT_EQ(cache.entries(), 128u);
  EXPECT_EQ(hits(cache, 1, 128, 1), 0);
  EXPECT_EQ(hits(cache, 1, 128, 1), 128);
  EXPECT_EQ(hits(cache, 1, 128, 4), 32);
}

TEST_F(Pages, OneLapTooLongAndTheOldestIsAlwaysTheOneNeeded) {
  TranslationCache cache(16 * kSet);
  (void)hits(cache, 1, 128 + 16, 1);
  EXPECT_EQ(hits(cache, 1, 128 + 16, 1), 0);
}

TEST_F(Pages, AStrideOfTheSetsUsesOneSetOnly) {
  TranslationCache cache(16 * kSet);
  (void)hits(cache, 1, 16 * 8, 16);
  EXPECT_EQ(hits(cache, 1, 16 * 8, 16), 8);
  (void)hits(cache, 1, 16 * 9, 16);
  EXPECT_EQ(hits(cache, 1, 16 * 9, 16), 0);
}

TEST_F(Pages, AUsedOneStaysWhenARoomIsNeeded) {
  TranslationCache cache(kSet);
  for (std::uint64_t page = 0; page < 8; ++page) access(cache, 1, page);
  EXPECT_TRUE(access(cache, 1, 0));
  EXPECT_FALSE(access(cache, 1, 8));
  EXPECT_TRUE(access(cache, 1, 0));
  EXPECT_FALSE(access(cache, 1, 1));
}

TEST_F(Pages, ForgettingARegionLeavesTheOthers) {
  for (const std::uint64_t pages : {4U, 100U}) {  // fewer and more than there are sets
    TranslationCache cache(16 * kSet);
    for (const std::uint32_t slot : {1U, 2U}) (void)hits(cache, slot, 4, 1);
    cache.forget(1, pages);
    EXPECT_EQ(hits(cache, 2, 4, 1), 4);
    EXPECT_EQ(hits(cache, 1, 4, 1), 0);
  }
}

TEST(Translation, ACacheHasTheSizeThatWasAskedForOrIsNotThere) {
  EXPECT_FALSE(TranslationCache(0).enabled());
  EXPECT_EQ(TranslationCache(1).entries(), TranslationCache::kWays);
  const std::size_t srnic = (12U << 20) / 10;  // 1.2 MB
  EXPECT_LE(TranslationCache(srnic).bytes(), srnic);
  EXPECT_GT(TranslationCache(srnic).bytes(), srnic - kSet);
}

TEST_F(Pages, WaysAndReplacementAreItsShape) {
  constexpr CacheShape kChance{.ways = 4, .replacement = Replacement::random};
  TranslationCache by_chance(16 * 4 * 16, kChance), by_age(16 * 4 * 16, {.ways = 4, .replacement = Replacement::lru});
  EXPECT_EQ(by_chance.entries(), 64u);
  int chance = 0, age = 0;
  for (int round = 0; round < 50; ++round) {
    chance += hits(by_chance, 1, 96, 1);
    age += hits(by_age, 1, 96, 1);
  }
  EXPECT_EQ(age, 0) << "one and a half times what fits, in a circle";
  EXPECT_GT(chance, 1000);
  by_chance.forget(1, 96);
  EXPECT_EQ(hits(by_chance, 1, 96, 1), 0);
}

}  // namespace
}  // namespace weft::nic
