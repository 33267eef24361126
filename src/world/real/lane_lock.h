// The lock of a lane. Every call of a program takes it, and nearly always it is free: taking it is one atomic
// instruction, giving it back is a store. With the usual mutex that is a second one, and it waits until everything that
// was written for the neighbour has left this processor.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::real {

class LaneLock {
 public:
  void lock() {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  [[nodiscard]] bool try_lock() { return taken_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() {
    taken_.store(0, std::memory_order_release);
    // This look may come before the store is seen: whoever has gone to sleep just then is missed, and looks itself.
    if (awaited_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake();
  }

 private:
  void wait();
  void wake();

  std::atomic<std::uint32_t> taken_{0};
  std::atomic<std::uint32_t> awaited_{0};  // somebody sleeps
};

}  // namespace weft::real
