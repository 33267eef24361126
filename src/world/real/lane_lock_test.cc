// One at a time, whoever waits is not forgotten, and a lock that is free can be had at once.
#include "world/real/lane_lock.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weft::real {
namespace {

TEST(LaneLock, LetsOneInAtATime) {
  constexpr int kThreads = 4, kTimes = 20'000;
  LaneLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        const std::lock_guard guard(lock);
        ++count;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, kThreads * kTimes);
}

TEST(LaneLock, IsHadByWhoeverSleptForIt) {
  LaneLock lock;
  lock.lock();
  EXPECT_FALSE(lock.try_lock());
  std::thread waiter([&] { const std::lock_guard guard(lock); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long enough to have gone to sleep
  lock.unlock();
  waiter.join();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace weft::real
