// Whose turn it is, under each policy, and how much room that takes.
#include "nic/schedule/schedule_policy.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::nic {
namespace {

using testing::ElementsAre;

struct Owner {
  std::uint8_t service_level = 0;
};
using Owners = std::vector<Owner>;
using Queue = ReadyQueue<Owners>;

constexpr Policy kPolicies[] = {Policy::round_robin, Policy::weighted, Policy::strict};

// `turns` turns, after each of which the queue pair has more to send.
std::vector<std::uint32_t> take_turns(Queue& queue, int turns) {
  std::vector<std::uint32_t> order;
  for (int i = 0; i < turns; ++i) {
    order.push_back(queue.pop());
    queue.push(order.back());
  }
  return order;
}

TEST(SlotQueue, TakesTwoBytesASlotUpTo65536QueuePairsAndFourBeyond) {
  EXPECT_EQ(slot_bytes(10'000), 2u);
  EXPECT_EQ(slot_bytes(65'536), 2u);
  EXPECT_EQ(slot_bytes(65'537), 4u);
  EXPECT_EQ(SlotQueue(65'536).bytes(), 131'072u);
  EXPECT_EQ(SlotQueue(131'072).bytes(), 524'288u);
  EXPECT_EQ(10'000 * sizeof(SmallSlot), 20'000u);  // SRNIC's 19.5 KB
}

TEST(SlotQueue, HoldsEverySlotOfBothKindsOfTable) {
  for (const std::uint32_t size : {65'536U, 131'072U}) {
    SlotQueue queue(size);
    for (std::uint32_t slot = 0; slot < size; ++slot) queue.push(size - 1 - slot);
    ASSERT_EQ(queue.size(), size);
    for (std::uint32_t slot = 0; slot < size; ++slot) ASSERT_EQ(queue.pop(), size - 1 - slot);
    EXPECT_TRUE(queue.empty());
  }
}

TEST(RoundRobin, GivesEverybodyATurn) {
  Owners owners{{0}, {15}, {3}, {0}};
  Queue queue(Policy::round_robin, 4, owners, usual_weights());
  for (const std::uint32_t slot : {2U, 0U, 1U}) queue.push(slot);
  EXPECT_THAT(take_turns(queue, 7), ElementsAre(2, 0, 1, 2, 0, 1, 2));
}

TEST(Weighted, GivesAsManyTurnsAsTheLevelWeighs) {
  Owners owners{{0}, {2}, {1}, {0}};
  Queue queue(Policy::weighted, 4, owners, usual_weights());
  for (const std::uint32_t slot : {0U, 1U, 2U}) queue.push(slot);
  EXPECT_THAT(take_turns(queue, 8), ElementsAre(0, 1, 1, 1, 2, 2, 0, 1));
}

TEST(Weighted, TakesTheDevicesWeights) {
  Owners owners{{0}, {5}};
  Weights weights{};
  weights[5] = 3;  // and a weight of nothing is a turn all the same: nobody starves
  Queue queue(Policy::weighted, 2, owners, weights);
  queue.push(0);
  queue.push(1);
  EXPECT_THAT(take_turns(queue, 6), ElementsAre(0, 1, 1, 1, 0, 1));
}

TEST(Weighted, WhoHasNothingToSendLosesTheRestOfItsTurns) {
  Owners owners{{7}, {0}};
  Queue queue(Policy::weighted, 2, owners, usual_weights());
  queue.push(0);
  queue.push(1);
  EXPECT_EQ(queue.pop(), 0u);  // and is not pushed again
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.pop(), 1u);
  EXPECT_TRUE(queue.empty());
}

TEST(Strict, PutsTheHigherLevelFirstAndIsFairWithinOne) {
  Owners owners{{0}, {4}, {15}, {4}};
  Queue queue(Policy::strict, 4, owners, usual_weights());
  for (const std::uint32_t slot : {0U, 1U, 3U}) queue.push(slot);
  EXPECT_THAT(take_turns(queue, 4), ElementsAre(1, 3, 1, 3));
  queue.push(2);
  EXPECT_THAT(take_turns(queue, 2), ElementsAre(2, 2));
  EXPECT_EQ(queue.pop(), 2u);
  EXPECT_EQ(queue.pop(), 1u);
  EXPECT_EQ(queue.pop(), 3u);
  EXPECT_EQ(queue.pop(), 0u);
  EXPECT_TRUE(queue.empty());
}

TEST(Policies, WhoIsRemovedIsNeverFoundAgain) {
  for (const Policy policy : kPolicies) {
    for (std::uint32_t gone = 0; gone < 4; ++gone) {
      Owners owners{{3}, {3}, {9}, {0}};
      Queue queue(policy, 4, owners, usual_weights());
      for (std::uint32_t slot = 0; slot < 4; ++slot) queue.push(slot);
      (void)take_turns(queue, 2);  // somebody may be in the midst of its turns
      owners[gone].service_level = 5;
      queue.remove(gone);
      EXPECT_EQ(queue.size(), 3u);
      for (std::uint32_t left = 3; left > 0; --left) EXPECT_NE(queue.pop(), gone);
      EXPECT_TRUE(queue.empty());
      queue.push(gone);  // the next owner of the slot
      EXPECT_EQ(queue.pop(), gone);
      EXPECT_TRUE(queue.empty());
    }
  }
}

TEST(Policies, PeekTellsWhoComesIfNobodyElseDoes) {
  for (const Policy policy : {Policy::round_robin, Policy::strict}) {
    Owners owners{{1}, {0}, {9}, {1}};
    Queue queue(policy, 4, owners, usual_weights());
    for (std::uint32_t slot = 0; slot < 4; ++slot) queue.push(slot);
    std::vector<std::uint32_t> said;
    for (std::uint32_t ahead = 0; ahead < 4; ++ahead) said.push_back(queue.peek(ahead));
    EXPECT_EQ(queue.peek(4), kNone);
    for (const std::uint32_t slot : said) EXPECT_EQ(queue.pop(), slot);
  }
}

}  // namespace
}  // namespace weft::nic
