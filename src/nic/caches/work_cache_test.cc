// Which work entries a conventional card has at hand.
#include "nic/caches/work_cache.h"

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

constexpr std::size_t kLine = WorkCache::kLineBytes;

TEST(WorkCache, WithoutRoomItIsNotThere) {
  EXPECT_FALSE(WorkCache(0, 10).enabled());
  EXPECT_EQ(WorkCache(0, 10).bytes(), 0u);
  EXPECT_EQ(kLine, 512u);  // eight of 64 bytes, as SRNIC assumes of others
  EXPECT_EQ(WorkCache(3 * kLine + 5, 10).bytes(), 3 * kLine);
}

TEST(WorkCache, ALineHoldsFewerOfLargerEntries) {
  EXPECT_EQ(WorkCache::entries_of(32), 8u);
  EXPECT_EQ(WorkCache::entries_of(64), 8u);
  EXPECT_EQ(WorkCache::entries_of(128), 4u);
  EXPECT_EQ(WorkCache::entries_of(1088), 1u);
}

TEST(WorkCache, HasWhatItKeepsAndNothingBesides) {
  WorkCache cache(2 * kLine, 4);
  EXPECT_FALSE(cache.has(0, 0));
  cache.keep(0, 0xFFFF'FFFE, 4);  // numbers run freely, past the largest
  EXPECT_FALSE(cache.has(0, 0xFFFF'FFFD));
  EXPECT_TRUE(cache.has(0, 0xFFFF'FFFE));
  EXPECT_TRUE(cache.has(0, 1));
  EXPECT_FALSE(cache.has(0, 2));
  EXPECT_FALSE(cache.has(1, 0));
  cache.keep(0, 2, 1);  // a queue has one line
  EXPECT_FALSE(cache.has(0, 1));
  EXPECT_TRUE(cache.has(0, 2));
}

TEST(WorkCache, GivesUpTheQueueThatWasNotUsedForLongest) {
  WorkCache cache(3 * kLine, 5);
  for (std::uint32_t owner = 0; owner < 3; ++owner) cache.keep(owner, 0, 8);
  EXPECT_TRUE(cache.has(0, 0));
  cache.keep(3, 0, 8);
  EXPECT_TRUE(cache.has(0, 7));
  EXPECT_FALSE(cache.has(1, 0));
  EXPECT_TRUE(cache.has(2, 0));
  cache.keep(4, 0, 8);
  EXPECT_FALSE(cache.has(3, 0));
}

// In a circle over more queues than fit, age keeps nothing and chance keeps some.
TEST(WorkCache, GivesUpByChanceIfItsShapeSaysSo) {
  WorkCache by_age(16 * kLine, 24), by_chance(16 * kLine, 24, {.ways = 0, .replacement = Replacement::random});
  int age = 0, chance = 0;
  for (std::uint32_t i = 0; i < 2400; ++i) {
    for (auto* cache : {&by_age, &by_chance}) {
      const bool found = cache->has(i % 24, 0);
      if (found) ++(cache == &by_age ? age : chance);
      if (!found) cache->keep(i % 24, 0, 8);
    }
  }
  EXPECT_EQ(age, 0);
  EXPECT_GT(chance, 500);
}

TEST(WorkCache, ForgetsAQueueAndGivesItsLineToAnother) {
  WorkCache cache(kLine, 3);
  cache.keep(0, 0, 8);
  cache.forget(0);
  cache.forget(1);
  EXPECT_FALSE(cache.has(0, 0));
  cache.keep(1, 5, 1);
  EXPECT_TRUE(cache.has(1, 5));
  cache.keep(0, 0, 8);
  EXPECT_FALSE(cache.has(1, 5));
  EXPECT_TRUE(cache.has(0, 0));
}

}  // namespace
}  // namespace weft::nic
