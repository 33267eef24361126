#include "world/real/lane_lock.h"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::real {
namespace {

constexpr int kSpins = 32;
constexpr timespec kLookAgain{.tv_sec = 0, .tv_nsec = 50'000};  // for a sleeper that nobody has seen

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

long futex(std::atomic<std::uint32_t>& word, int deed, std::uint32_t value, const timespec* limit) {
  return syscall(SYS_futex, &word, deed | FUTEX_PRIVATE_FLAG, value, limit, nullptr, 0);
}

}  // namespace

void LaneLock::wait() {
  for (int i = 0; i < kSpins; ++i) {
    pause();
    if (taken_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
  }
  do {
    awaited_.store(1, std::memory_order_seq_cst);
    (void)futex(taken_, FUTEX_WAIT, 1, &kLookAgain);
  } while (!try_lock());
}

// All of them: who comes too late says again that it waits.
void LaneLock::wake() {
  awaited_.store(0, std::memory_order_relaxed);
  (void)futex(taken_, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace weft::real
