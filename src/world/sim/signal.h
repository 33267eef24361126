// Something that coroutines wait for: a condition variable of the simulated world. A notice wakes those who wait at
// that moment and is then forgotten, so wait in a loop that looks at what it is about:
//
//   while (queue.empty()) co_await signal.wait();
#pragma once

#include <algorithm>
#include <coroutine>
#include <vector>

#include "base/time.h"
#include "world/sim/scheduler.h"

namespace weft::sim {

class Signal {
 public:
  explicit Signal(Scheduler& scheduler) : scheduler_(&scheduler) {}
  Signal(const Signal&) = delete;  // those who wait know where it is
  Signal& operator=(const Signal&) = delete;

  class Wait;
  [[nodiscard]] Wait wait();               // for a notice
  [[nodiscard]] Wait wait_until(Time at);  // for a notice, or until then; true: there was a notice

  void notify_all() {
    for (const Scheduler::Ticket waiter : waiters_) tell(waiter);
    waiters_.clear();
  }
  // Who has waited longest; false: nobody waits.
  bool notify_one() {
    while (!waiters_.empty()) {
      const Scheduler::Ticket longest = waiters_.front();
      waiters_.erase(waiters_.begin());
      if (tell(longest)) return true;
    }
    return false;
  }
  [[nodiscard]] bool awaited() const { return !waiters_.empty(); }

 private:
  bool tell(Scheduler::Ticket waiter) {
    if (!scheduler_->waits(waiter)) return false;  // abandoned
    scheduler_->notify(waiter);
    return true;
  }

  Scheduler* scheduler_;
  std::vector<Scheduler::Ticket> waiters_;  // who has waited longest comes first
};

class Signal::Wait {
 public:
  Wait(Signal& signal, Time until) : signal_(&signal), until_(until) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    ticket_ = signal_->scheduler_->park(waiting);
    signal_->waiters_.push_back(ticket_);
    if (until_ != kNever) {
      signal_->scheduler_->resume_at(ticket_, std::max(until_, signal_->scheduler_->now()), FabricEventKind::time_out);
    }
  }
  bool await_resume() {
    if (!signal_->scheduler_->timed_out()) return true;
    std::erase(signal_->waiters_, ticket_);
    return false;
  }

 private:
  Signal* signal_;
  Time until_;
  Scheduler::Ticket ticket_;
};

inline Signal::Wait Signal::wait() { return Wait(*this, kNever); }
inline Signal::Wait Signal::wait_until(Time at) { return Wait(*this, at); }

}  // namespace weft::sim
