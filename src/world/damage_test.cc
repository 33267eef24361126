#include "world/damage.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace weft::world {
namespace {

struct Extent {
  std::size_t bits = 0, first = 0, last = 0;  // bits changed; bytes from first to last
};

Extent changed(const std::vector<std::byte>& bytes) {
  Extent extent{.first = bytes.size()};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int bits = std::popcount(std::to_integer<std::uint8_t>(bytes[i]));
    if (bits == 0) continue;
    extent.bits += static_cast<std::size_t>(bits);
    extent.first = std::min(extent.first, i);
    extent.last = i;
  }
  return extent;
}

TEST(Damage, ChangesOneBitOrAShortBurst) {
  Random random(1);
  std::size_t single = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::byte> bytes(60);
    damage(bytes, random);
    const Extent extent = changed(bytes);
    ASSERT_GT(extent.bits, 0u);
    ASSERT_LT(extent.last - extent.first, 4u);
    single += extent.bits == 1;
  }
  EXPECT_GT(single, 7'000u);
  EXPECT_LT(single, 8'500u);
}

TEST(Damage, ReachesTheFirstAndTheLastByteAndNoOther) {
  Random random(2);
  bool first = false, last = false;
  for (int i = 0; i < 1'000; ++i) {
    std::vector<std::byte> bytes(8);
    damage(bytes, random);
    first |= changed(bytes).first == 0;
    last |= changed(bytes).last == 7;
    std::vector<std::byte> one(1);
    damage(one, random);
    ASSERT_NE(one[0], std::byte{0});
  }
  EXPECT_TRUE(first && last);
}

TEST(Damage, FollowsFromTheSeed) {
  std::vector<std::byte> once(100), again(100);
  Random first(7), second(7);
  for (int i = 0; i < 50; ++i) damage(once, first), damage(again, second);
  EXPECT_EQ(once, again);
}

}  // namespace
}  // namespace weft::world
