// One at a time, whoever waits is not forgotten, and a lock that is free can be had at once.
#include "world/real/lane/lane_lock.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "support/asleep.h"

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

// Some threads are alone with the lock for long enough to become its favourite, while another takes it after so many
// times of theirs: that ends the favour each time, and they need twice as many times in a row to have it again.
TEST(LaneLock, LetsOneInAtATimeThoughItHasFavourites) {
  constexpr int kThreads = 6, kTimes = 30'000, kUndisturbed = 10'000;
  LaneLock lock;
  std::atomic<bool> done = false;
  std::atomic<int> taken = 0;
  int count = 0, disturbed = 0, favoured = 0;
  std::thread disturber([&] {
    for (int next = 0; !done; std::this_thread::yield()) {
      if (taken < next) continue;
      next = taken + kUndisturbed;
      const std::lock_guard guard(lock);
      ++count;
      ++disturbed;
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        const std::lock_guard guard(lock);
        ++count;
        favoured += lock.has_favourite() ? 1 : 0;
        taken.store(count - disturbed, std::memory_order_relaxed);
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
  EXPECT_EQ(favoured > kTimes / 2, lock.may_have_favourite()) << "the first thread alone is it for that long";
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
  KnownThread waiter;
  std::thread thread([&] {
    waiter.says_its_number();
    const std::lock_guard guard(lock);
  });
  EXPECT_TRUE(waiter.falls_asleep_in(SYS_futex));
  lock.unlock();
  thread.join();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace weft::real
