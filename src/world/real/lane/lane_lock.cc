#include "world/real/lane/lane_lock.h"

#include <algorithm>
#include <climits>
#include <ctime>
#include <utility>

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::real {
namespace {

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

bool membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

// Does the kernel make other processors see what this one has written? ThreadSanitizer does not know that it does.
bool can_make_all_see() {
#if defined(__SANITIZE_THREAD__)
  return false;
#else
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
}

// In a child process what its parent has asked for may count or not. The last way takes milliseconds, and always works.
void make_all_see() {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) [[likely]]
    return;
  if (!can_make_all_see() || !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) (void)membarrier(MEMBARRIER_CMD_GLOBAL);
}

}  // namespace

LaneLock::LaneLock() : patience_(can_make_all_see() ? kPatience : kNever) {}

void LaneLock::lock_as_others() {
  if (!try_taken()) wait();
  end_favour();
  for (int i = 0; is_favourite_inside(); ++i) i < kSpins ? pause() : void(sched_yield());
  came_in();
}

bool LaneLock::try_as_others() {
  if (!try_taken()) return false;
  end_favour();
  if (is_favourite_inside()) {
    unlock_as_others();
    return false;
  }
  came_in();
  return true;
}

void LaneLock::unlock_as_others() {
  taken_.store(0, std::memory_order_release);
  // This look may come before the store is seen: whoever has gone to sleep just then is missed, and looks itself.
  if (awaited_.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  awaited_.store(0, std::memory_order_relaxed);
  (void)futex(taken_, FUTEX_WAKE, INT_MAX, nullptr);  // all of them: who comes too late says again that it waits
}

void LaneLock::end_favour() {
  if (favourite_.load(std::memory_order_relaxed) == nullptr) [[likely]]
    return;
  favourite_.store(nullptr, std::memory_order_relaxed);
  make_all_see();
  last_ = 0;
  patience_ = std::min(2 * patience_, kMostPatience);
}

bool LaneLock::is_favourite_inside() const { return seat_ != nullptr && seat_->inside.load(std::memory_order_acquire); }

void LaneLock::came_in() {
  by_favour_ = false;
  const Thread me = this_thread();
  in_a_row_ = std::exchange(last_, me) == me ? in_a_row_ + 1 : 0;
  if (patience_ == kNever || in_a_row_ < patience_) [[likely]]
    return;
  in_a_row_ = 0;
  if (Seat* seat = seat_of(me)) {
    seat_ = seat;
    favourite_.store(seat, std::memory_order_relaxed);  // from the next time on
  }
}

// Nothing: others have been favourites, and their seats are taken.
LaneLock::Seat* LaneLock::seat_of(Thread thread) {
  for (Seat& seat : seats_) {
    if (seat.owner == 0) seat.owner = thread;
    if (seat.owner == thread) return &seat;
  }
  return nullptr;
}

void LaneLock::wait() {
  for (int i = 0; i < kSpins; ++i) {
    pause();
    if (taken_.load(std::memory_order_relaxed) == 0 && try_taken()) return;
  }
  constexpr timespec kLookAgain{.tv_sec = 0, .tv_nsec = kLookAgainAfter};
  do {
    awaited_.store(1, std::memory_order_seq_cst);
    (void)futex(taken_, FUTEX_WAIT, 1, &kLookAgain);
  } while (!try_taken());
}

}  // namespace weft::real
