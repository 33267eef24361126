#include "lab/group_schedule.h"

#include <gtest/gtest.h>

namespace weft::lab {
namespace {

TEST(GroupSchedule, OneGroupMayAlwaysPost) {
  for (const GroupSchedule& one :
       {GroupSchedule(0, microseconds(20), 400), GroupSchedule(240, microseconds(20), 240)}) {
    EXPECT_EQ(one.groups(), 1U);
    EXPECT_EQ(one.group_of(239), 0U);
    EXPECT_EQ(one.next(0, microseconds(33)), microseconds(33));
  }
}

TEST(GroupSchedule, ANewGroupBeginsWhenThoseBeforeItAreFull) {
  const GroupSchedule two(240, microseconds(20), 400);
  EXPECT_EQ(two.groups(), 2U);
  EXPECT_EQ(two.group_of(239), 0U);
  EXPECT_EQ(two.group_of(240), 1U);
  EXPECT_EQ(GroupSchedule(240, microseconds(20), 481).groups(), 3U);
}

TEST(GroupSchedule, GroupsTakeTurnsAndTheOthersWait) {
  const GroupSchedule three(10, microseconds(20), 30);
  EXPECT_EQ(three.active(0), 0U);
  EXPECT_EQ(three.active(microseconds(20) - 1), 0U);
  EXPECT_EQ(three.active(microseconds(20)), 1U);
  EXPECT_EQ(three.active(microseconds(60)), 0U) << "it begins again";
  EXPECT_EQ(three.next(1, microseconds(25)), microseconds(25)) << "its slot has begun";
  EXPECT_EQ(three.next(2, microseconds(25)), microseconds(40));
  EXPECT_EQ(three.next(0, microseconds(25)), microseconds(60));
  EXPECT_EQ(three.next(0, microseconds(20)), microseconds(60)) << "its slot is just over";
}

}  // namespace
}  // namespace weft::lab
