#include "host/post_order.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::host {
namespace {

class PostOrderTest : public testing::Test {
 protected:
  void lap(const std::vector<std::uint32_t>& slots) {
    for (const std::uint32_t slot : slots) order_.note(slot, 4);
  }

  nic::ContextTable contexts_{64};
  PostOrder order_{contexts_};
};

TEST_F(PostOrderTest, AfterALapItKnowsWhoComesNext) {
  const std::vector<std::uint32_t> slots{9, 40, 3, 27, 11, 60, 5};
  lap(slots);
  for (std::size_t i = 0; i < 3 * slots.size(); ++i) {
    order_.note(slots[i % slots.size()], 4);
    if (i < 4) continue;  // until its own guesses have come true it looks at the last lap's
    EXPECT_EQ(order_.soon(), slots[(i + 2) % slots.size()]) << i;
    EXPECT_EQ(order_.later(), slots[(i + 4) % slots.size()]) << i;
  }
}

TEST_F(PostOrderTest, SeveralPostsToOneAreOneVisit) {
  const std::vector<std::uint32_t> slots{1, 1, 1, 2, 2, 3, 4, 4, 5, 6};
  for (int i = 0; i < 3; ++i) lap(slots);
  order_.note(1, 1);
  EXPECT_EQ(order_.soon(), 3u);
  EXPECT_EQ(order_.later(), 5u);
}

TEST_F(PostOrderTest, ANewOrderIsLearnt) {
  lap({1, 2, 3, 4, 5, 6});
  lap({1, 2, 3, 4, 5, 6});
  const std::vector<std::uint32_t> backwards{6, 5, 4, 3, 2, 1};
  lap(backwards);
  lap(backwards);
  order_.note(6, 1);
  EXPECT_EQ(order_.soon(), 4u);
  EXPECT_EQ(order_.later(), 2u);
}

}  // namespace
}  // namespace weft::host
