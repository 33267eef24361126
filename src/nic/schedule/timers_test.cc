#include "nic/schedule/timers.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace weft::nic {
namespace {

struct TimerOwner {
  Time deadline = kNever;
  std::uint32_t timer = 0;
};

struct TimerOwners : std::vector<TimerOwner> {
  using std::vector<TimerOwner>::vector;
};

std::set<std::uint32_t> due(const TimerOwners& owners, Time now) {
  std::set<std::uint32_t> ids;
  for (std::uint32_t id = 0; id < owners.size(); ++id) {
    if (owners[id].deadline <= now) ids.insert(id);
  }
  return ids;
}

Time earliest(const TimerOwners& owners) {
  return std::min_element(owners.begin(), owners.end(),
                          [](const TimerOwner& a, const TimerOwner& b) { return a.deadline < b.deadline; })
      ->deadline;
}

TEST(Timers, FireWhenTheirDeadlineHasComeAndNotBefore) {
  TimerOwners owners(3);
  Timers timers(owners, nanoseconds(1));
  timers.arm(0, milliseconds(5));
  timers.arm(1, microseconds(3));
  timers.arm(2, seconds(3));
  EXPECT_EQ(timers.pop_due(microseconds(3) - 1), kNone);
  EXPECT_EQ(timers.pop_due(microseconds(3)), 1u);
  EXPECT_EQ(timers.pop_due(milliseconds(5) - 1), kNone);
  EXPECT_EQ(timers.next(), milliseconds(5)) << "its stretch has begun: the time is exact";
  EXPECT_EQ(timers.pop_due(milliseconds(5)), 0u);
  EXPECT_EQ(timers.pop_due(seconds(3)), 2u);
  EXPECT_EQ(timers.next(), kNever);
}

TEST(Timers, AnOwnerThatMovedLaterFiresLater) {
  TimerOwners owners(2);
  Timers timers(owners, nanoseconds(1));
  timers.arm(0, milliseconds(1));
  timers.arm(0, milliseconds(9));
  timers.arm(1, milliseconds(1));
  timers.disarm(1);
  EXPECT_EQ(timers.pop_due(milliseconds(9) - 1), kNone);
  EXPECT_EQ(timers.pop_due(milliseconds(9)), 0u);
  EXPECT_EQ(timers.pop_due(seconds(1)), kNone);
}

TEST(Timers, AnOwnerThatIsGoneIsNotLookedAtAgain) {
  TimerOwners owners(4);
  Timers timers(owners, nanoseconds(1));
  for (std::uint32_t id = 0; id < 4; ++id) timers.arm(id, milliseconds(2) + id);
  for (const std::uint32_t id : {1u, 3u, 0u}) {  // from the middle of a bucket, its beginning and its end
    timers.remove(id);
    owners[id] = {0, 0};  // the slot is all zeros now: it would be overdue
  }
  EXPECT_EQ(timers.pop_due(seconds(1)), 2u);
  EXPECT_EQ(timers.pop_due(seconds(1)), kNone);
}

// The real world's ticks are nanoseconds: its buckets are as long, and after ten years they still are.
TEST(Timers, KeepTimeForYearsWhereATickIsANanosecond) {
  constexpr Time kDay = 86'400'000'000'000, kMillisecond = 1'000'000;
  TimerOwners owners(2);
  Timers timers(owners, 1);
  for (Time now = kDay; now < 3650 * kDay; now += 100 * kDay) {
    timers.arm(0, now + 5 * kMillisecond);
    timers.arm(1, now + 9 * kMillisecond);
    EXPECT_EQ(timers.pop_due(now + 5 * kMillisecond - 1), kNone);
    EXPECT_EQ(timers.next(), now + 5 * kMillisecond);
    EXPECT_EQ(timers.pop_due(now + 5 * kMillisecond), 0u);
    EXPECT_GT(timers.next(), now + 8 * kMillisecond) << "nobody has to look before a bucket begins";
    EXPECT_EQ(timers.pop_due(now + 9 * kMillisecond), 1u);
  }
}

// Whatever is armed, moved, disarmed and removed: exactly those that are due come out, in order of their deadlines, and
// nobody is told to look again too late.
TEST(Timers, AgreeWithALookAtEveryDeadline) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    TimerOwners owners(200);
    Timers timers(owners, nanoseconds(1));
    Time now = 0;
    const Time reach = std::array{microseconds(20), milliseconds(1), milliseconds(30), seconds(1)}[seed % 4];
    for (int step = 0; step < 4000; ++step) {
      const auto id = static_cast<std::uint32_t>(random() % owners.size());
      switch (random() % 8) {
        case 0: timers.disarm(id); break;
        case 1: timers.remove(id); break;
        case 2: {
          now = random() % 4 == 0 ? std::max(now, std::min(timers.next(), now + reach))
                                  : now + static_cast<Time>(random() % static_cast<std::uint64_t>(reach));
          std::set<std::uint32_t> expected = due(owners, now);
          Time last = 0;
          while (!expected.empty()) {
            std::vector<Time> before(owners.size());
            for (std::size_t i = 0; i < owners.size(); ++i) before[i] = owners[i].deadline;
            const std::uint32_t fired = timers.pop_due(now);
            ASSERT_EQ(expected.erase(fired), 1u) << "seed " << seed << ", step " << step << ", owner " << fired;
            ASSERT_GE(before[fired], last);
            ASSERT_EQ(owners[fired].deadline, kNever);
            last = before[fired];
          }
          ASSERT_EQ(timers.pop_due(now), kNone);
          break;
        }
        default: timers.arm(id, now + static_cast<Time>(random() % static_cast<std::uint64_t>(reach)));
      }
      ASSERT_LE(timers.next(), earliest(owners)) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace weft::nic
