// The lock of a lane. Every call of a program takes it, and nearly always it is free, and the last to have it was the
// same thread. So a thread that takes it often enough becomes its favourite: taking it is then a store between two
// looks, without an atomic instruction. Whoever else wants it first ends the favour; that takes long and is rare. For
// all others taking it is one atomic instruction, and giving it back a store.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <pthread.h>

namespace weft::real {

class LaneLock {
 public:
  LaneLock();
  LaneLock(const LaneLock&) = delete;
  LaneLock& operator=(const LaneLock&) = delete;

  void lock() {
    if (!lock_by_favour()) [[unlikely]]
      lock_as_others();
  }
  [[nodiscard]] bool try_lock() { return lock_by_favour() || try_as_others(); }
  void unlock() {
    if (by_favour_) [[likely]] {
      seat_->inside.store(false, std::memory_order_release);
    } else {
      unlock_as_others();
    }
  }

  // For tests.
  [[nodiscard]] bool has_favourite() const { return favourite_.load() != nullptr; }
  [[nodiscard]] bool may_have_favourite() const { return patience_ != kNever; }

 private:
  // -- all thresholds
  static constexpr std::uint32_t kPatience = 256;           // times in a row that make a thread the favourite
  static constexpr std::uint32_t kMostPatience = 1U << 20;  // each favour that was ended doubles it, up to this
  static constexpr std::size_t kSeats = 4;                  // threads that can ever be favourites
  static constexpr int kSpins = 32;                         // looks before whoever waits sleeps
  static constexpr std::int64_t kLookAgainAfter = 50'000;   // nanoseconds, for a sleeper that nobody has seen

  using Thread = std::uintptr_t;
  // A favourite's own, for good. It may be late to say that it is inside, and to take that back, when others are inside
  // already and even one of them is the favourite: nobody looks at this seat then.
  struct Seat {
    Thread owner = 0;
    std::atomic<bool> inside{false};
  };

  static Thread this_thread() {
#if defined(__GNUC__) && !defined(__clang__)
    return std::bit_cast<Thread>(__builtin_thread_pointer());
#else
    return static_cast<Thread>(pthread_self());
#endif
  }

  // The favourite says that it is inside, then looks whether it still is the favourite. Who ends that says so, has the
  // kernel make every processor see it (membarrier), then looks whether the favourite is inside. One of them sees the
  // other; the compiler is all that has to be kept from changing the order here.
  [[nodiscard]] bool lock_by_favour() {
    Seat* seat = favourite_.load(std::memory_order_relaxed);
    if (seat == nullptr || seat->owner != this_thread()) [[unlikely]]
      return false;
    seat->inside.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (favourite_.load(std::memory_order_relaxed) != seat) [[unlikely]] {
      seat->inside.store(false, std::memory_order_release);
      return false;
    }
    by_favour_ = true;
    return true;
  }
  [[nodiscard]] bool try_taken() { return taken_.exchange(1, std::memory_order_acquire) == 0; }
  void lock_as_others();
  [[nodiscard]] bool try_as_others();
  void unlock_as_others();
  void end_favour();
  [[nodiscard]] bool is_favourite_inside() const;
  void came_in();
  [[nodiscard]] Seat* seat_of(Thread thread);
  void wait();

  static constexpr std::uint32_t kNever = ~0U;

  std::atomic<Seat*> favourite_{nullptr};
  // Whoever is inside:
  Seat* seat_ = nullptr;  // of the last favourite
  bool by_favour_ = false;
  // Whoever has taken it, though the last favourite may still be inside:
  std::atomic<std::uint32_t> taken_{0};
  std::atomic<std::uint32_t> awaited_{0};  // somebody sleeps
  Thread last_ = 0;
  std::uint32_t in_a_row_ = 0;       // times that it was the last one's
  std::uint32_t patience_ = kNever;  // how many make a favourite
  std::array<Seat, kSeats> seats_;
};

}  // namespace weft::real
