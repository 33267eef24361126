#include "world/sim/shared_buffer.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

constexpr LinkIndex kOne = 0, kTwo = 1;

std::vector<LinkIndex> ended(SharedBuffer& buffer) {
  std::vector<LinkIndex> links;
  buffer.end_pauses([&](LinkIndex link) { links.push_back(link); });
  return links;
}

// Half of what is free: one port gets a third of all, as 500 of 1500 are half of the 1000 that are left.
TEST(SharedBuffer, AShareIsAPartOfWhatIsFree) {
  SharedBuffer buffer({.bytes = 1'500, .alpha = 0.5});
  ASSERT_TRUE(buffer.add(kOne, 0) && buffer.add(kTwo, 0));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(buffer.take(kOne, 100)) << i;
  EXPECT_FALSE(buffer.take(kOne, 100)) << "600 would be more than half of 1000";
  EXPECT_TRUE(buffer.take(kTwo, 100)) << "another's share is its own";
  EXPECT_FALSE(buffer.take(kOne, 1)) << "but what it takes makes that of all smaller";
  buffer.give_back(kTwo, 100);
  buffer.give_back(kOne, 100);
  EXPECT_TRUE(buffer.take(kOne, 100));
}

TEST(SharedBuffer, NeverTakesMoreThanThereIs) {
  SharedBuffer buffer({.bytes = 1'000, .alpha = 8});
  ASSERT_TRUE(buffer.add(kOne, 0) && buffer.add(kTwo, 0));
  std::uint32_t taken = 0;
  while (buffer.take(kOne, 300)) taken += 300;
  while (buffer.take(kTwo, 300)) taken += 300;
  EXPECT_LE(taken, 1'000u);
  EXPECT_GE(taken, 600u);
}

// What goes beyond the share goes to the headroom, and all that follows until nothing is left there.
TEST(SharedBuffer, HeadroomTakesWhatComesWhileANeighbourIsPaused) {
  constexpr std::uint32_t kShared = 100'000;
  SharedBuffer buffer({.bytes = kShared + 2 * 5'000, .alpha = 1, .pause = true});
  ASSERT_TRUE(buffer.add(kOne, 5'000) && buffer.add(kTwo, 5'000));
  std::uint32_t shared = 0;
  for (; !buffer.begins_pause(kOne); shared += 1'000) ASSERT_TRUE(buffer.take(kOne, 1'000));
  EXPECT_EQ(shared, kShared / 2 + 1'000) << "as much as is free, and the first in the headroom";
  EXPECT_FALSE(buffer.begins_pause(kOne)) << "it is asked once";
  EXPECT_FALSE(buffer.begins_pause(kTwo));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(buffer.take(kOne, 1'000)) << i;
  EXPECT_FALSE(buffer.take(kOne, 1'000)) << "the headroom is full";
  EXPECT_TRUE(buffer.take(kTwo, 1'000)) << "another's is not";

  for (int i = 0; i < 5; ++i) buffer.give_back(kOne, 1'000);
  EXPECT_TRUE(ended(buffer).empty()) << "the headroom is empty, and the share is full";
  for (int i = 0; i < 5; ++i) buffer.give_back(kOne, 1'000);
  EXPECT_EQ(ended(buffer), std::vector{kOne}) << "it has room for two packets again";
  EXPECT_TRUE(ended(buffer).empty());
}

// Another's packets may fill the memory: who has nothing in it need not wait for those.
TEST(SharedBuffer, WhoHasNothingThereGoesOn) {
  SharedBuffer buffer({.bytes = 10'000 + 2 * 5'000, .alpha = 1, .pause = true});
  ASSERT_TRUE(buffer.add(kOne, 5'000) && buffer.add(kTwo, 5'000));
  ASSERT_TRUE(buffer.take(kOne, 5'000));
  ASSERT_TRUE(buffer.take(kTwo, 3'000) && buffer.take(kTwo, 3'000));
  ASSERT_TRUE(buffer.begins_pause(kTwo));
  buffer.give_back(kTwo, 3'000);
  EXPECT_TRUE(ended(buffer).empty());
  buffer.give_back(kTwo, 3'000);
  EXPECT_EQ(ended(buffer), std::vector{kTwo});
}

TEST(SharedBuffer, IsNoSmallerThanItsHeadroom) {
  SharedBuffer buffer({.bytes = 10'000, .alpha = 1, .pause = true});
  EXPECT_TRUE(buffer.add(kOne, 6'000));
  EXPECT_FALSE(buffer.add(kTwo, 6'000));
}

}  // namespace
}  // namespace weft::sim
