// One at a time, whoever waits is not forgotten, and a lock that is free can be had at once.
#include "world/real/lane/lane_lock.h"

#include <atomic>
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

// One after the other is alone with it for long enough to become its favourite, while another takes it now and then:
// that ends the favour each time.
TEST(LaneLock, LetsOneInAtATimeThoughItHasFavourites) {
  constexpr int kThreads = 6, kTimes = 30'000;
  LaneLock lock;
  std::atomic<bool> done = false;
  int count = 0, disturbed = 0, favoured = 0;
  std::thread disturber([&] {
    while (!done) {
      {
        const std::lock_guard guard(lock);
        ++count;
        ++disturbed;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        const std::lock_guard guard(lock);
        ++count;
        favoured += lock.has_favourite() ? 1 : 0;
      }
    });
    if (t % 2 == 0) threads.back().join();  // alone; the next two are there at once
  }
  for (std::thread& t : threads) {
    if (t.joinable()) t.join();
  }
  done = true;
  disturber.join();
  EXPECT_EQ(count, kThreads * kTimes + disturbed);
  EXPECT_EQ(favoured > kTimes, lock.may_have_favourite());
}

TEST(LaneLock, CanBeTriedWhileItsFavouriteIsInside) {
  LaneLock lock;
  const auto tried = [&lock] {
    bool had = false;
    std::thread([&] {
      had = lock.try_lock();
      if (had) lock.unlock();
    }).join();
    return had;
  };
  for (int i = 0; i < 1000; ++i) {
    const std::lock_guard guard(lock);
  }
  EXPECT_EQ(lock.has_favourite(), lock.may_have_favourite());
  lock.lock();
  EXPECT_FALSE(tried());
  EXPECT_FALSE(tried());  // the favour is over by now, and its owner still inside
  lock.unlock();
  EXPECT_TRUE(tried());
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
