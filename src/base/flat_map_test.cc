// A map as a sorted vector, against one that everybody trusts.
#include "base/flat_map.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

using Map = FlatMap<std::uint32_t, std::uint32_t>;

TEST(FlatMap, FindsWhatWasAddedAndNothingElse) {
  Map map;
  EXPECT_EQ(map.find(3), nullptr);
  for (const std::uint32_t key : {5U, 1U, 9U}) EXPECT_EQ(map.add(key, key * 10), key * 10);
  for (const std::uint32_t key : {1U, 5U, 9U}) {
    ASSERT_NE(map.find(key), nullptr) << key;
    EXPECT_EQ(*map.find(key), key * 10);
    EXPECT_TRUE(map.contains(key));
  }
  for (const std::uint32_t key : {0U, 2U, 6U, 10U}) EXPECT_FALSE(map.contains(key)) << key;
  EXPECT_EQ(map.size(), 3U);
}

TEST(FlatMap, IsWalkedInTheOrderOfKeys) {
  Map map;
  for (const std::uint32_t key : {7U, 2U, 8U, 1U}) map.add(key, key);
  std::vector<std::uint32_t> keys;
  for (const auto& entry : map) keys.push_back(entry.key);
  EXPECT_EQ(keys, (std::vector<std::uint32_t>{1, 2, 7, 8}));
}

TEST(FlatMap, WhatIsTakenIsGoneAndTheOthersStay) {
  Map map;
  for (const std::uint32_t key : {1U, 2U, 3U}) map.add(key, key * 10);
  EXPECT_EQ(map.take(2, 99), 20U);
  EXPECT_FALSE(map.contains(2));
  EXPECT_EQ(*map.find(1), 10U);
  EXPECT_EQ(*map.find(3), 30U);
  EXPECT_EQ(map.take(2, 99), 99U) << "it is taken once";
  EXPECT_EQ(map.size(), 2U);
}

TEST(FlatMap, ValuesMayBeOfAKindThatOnlyMoves) {
  FlatMap<int, std::unique_ptr<int>> map;
  const int* first = map.add(2, std::make_unique<int>(7)).get();
  map.add(1, std::make_unique<int>(8));
  EXPECT_EQ(map.find(2)->get(), first) << "it moves, and what it points to does not";
  EXPECT_EQ(map.take(2, nullptr).get() == nullptr, false);
  EXPECT_EQ(map.take(2, nullptr), nullptr);
}

TEST(FlatMap, DoesWhatAMapDoes) {
  Map map;
  std::map<std::uint32_t, std::uint32_t> model;
  std::uint32_t chance = 1;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    chance = chance * 1'664'525 + 1'013'904'223;
    const std::uint32_t key = (chance >> 16) % 64;
    if (model.contains(key)) {
      ASSERT_EQ(*map.find(key), model[key]);
      ASSERT_EQ(map.take(key, ~0U), model[key]);
      model.erase(key);
    } else {
      ASSERT_FALSE(map.contains(key));
      map.add(key, i);
      model[key] = i;
    }
    ASSERT_EQ(map.size(), model.size());
  }
}

}  // namespace
}  // namespace weft
