// Runs coroutines from the event queue: each goes on when its event comes, never in the middle of someone else's. Who
// goes on first at the same picosecond is the queue's fair choice, as for everything else.
//
// A spawned task that throws ends the run: Fabric's run calls throw what it threw, so a test fails where it ran the
// world.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "base/time.h"
#include "world/sim/event_kind.h"
#include "world/sim/event_queue.h"
#include "world/sim/task.h"

namespace weft::sim {

// A spawned task. It stays valid, and done, when the task has ended.
struct Job {
  std::uint32_t slot = 0, generation = 0;
};

class Scheduler {
 public:
  explicit Scheduler(EventQueue& queue) : queue_(&queue) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler() { abandon(); }

  // Starts by an event at now().
  Job spawn(Task<> task);
  [[nodiscard]] bool done(Job job) const { return jobs_[job.slot].generation != job.generation; }
  [[nodiscard]] std::size_t unfinished() const { return unfinished_; }
  [[nodiscard]] Time now() const { return queue_->now(); }
  // Destroys all tasks that have not ended, in the order of their slots. For who must outlive them.
  void abandon();

  // ---- to be awaited ----
  class Sleep;
  class Join;
  [[nodiscard]] Sleep sleep(Time duration);  // 0: lets others of this time have their turn, perhaps
  [[nodiscard]] Sleep sleep_until(Time at);
  [[nodiscard]] Join join(Job job);  // until it is done

  // ---- for those who write awaitables (signal.h) ----
  // A coroutine that waits, by index; the generation tells when it no longer does.
  struct Ticket {
    std::uint32_t slot = 0, generation = 0;
    friend bool operator==(Ticket, Ticket) = default;
  };
  Ticket park(std::coroutine_handle<> waiting);
  [[nodiscard]] bool waits(Ticket ticket) const;  // and nobody has called notify for it
  void notify(Ticket ticket);                     // it goes on, by an event at now(); a time-out no longer counts
  void resume_at(Ticket ticket, Time at, FabricEventKind kind);  // resume or time_out
  // Did the coroutine that runs now go on because of a time-out?
  [[nodiscard]] bool timed_out() const { return timed_out_; }

  // ---- for the fabric ----
  void on_event(FabricEventKind kind, std::uint32_t slot, std::uint32_t generation);
  void rethrow_failure();

 private:
  struct Root;
  struct Parked {
    std::coroutine_handle<> handle;
    std::uint32_t generation = 0;
    bool notified = false;
  };
  struct JobState {
    std::coroutine_handle<> root;
    std::uint32_t generation = 0;
    std::vector<Ticket> joiners;
  };

  static Root run(Scheduler* scheduler, std::uint32_t slot, Task<> task);
  void finished(std::uint32_t slot);

  EventQueue* queue_;
  std::vector<Parked> parked_;
  std::vector<std::uint32_t> free_parked_;
  std::vector<JobState> jobs_;
  std::vector<std::uint32_t> free_jobs_;
  std::size_t unfinished_ = 0;
  std::exception_ptr failure_;
  bool timed_out_ = false;
};

class Scheduler::Sleep {
 public:
  Sleep(Scheduler& scheduler, Time at) : scheduler_(&scheduler), at_(at) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    scheduler_->resume_at(scheduler_->park(waiting), at_, FabricEventKind::resume);
  }
  void await_resume() const noexcept {}

 private:
  Scheduler* scheduler_;
  Time at_;
};

class Scheduler::Join {
 public:
  Join(Scheduler& scheduler, Job job) : scheduler_(&scheduler), job_(job) {}
  [[nodiscard]] bool await_ready() const noexcept { return scheduler_->done(job_); }
  void await_suspend(std::coroutine_handle<> waiting) {
    scheduler_->jobs_[job_.slot].joiners.push_back(scheduler_->park(waiting));
  }
  void await_resume() const noexcept {}

 private:
  Scheduler* scheduler_;
  Job job_;
};

inline Scheduler::Sleep Scheduler::sleep(Time duration) { return Sleep(*this, now() + duration); }
inline Scheduler::Sleep Scheduler::sleep_until(Time at) { return Sleep(*this, at); }
inline Scheduler::Join Scheduler::join(Job job) { return Join(*this, job); }

// All at once; ends when all have ended.
Task<> all(Scheduler& scheduler, std::vector<Task<>> tasks);

}  // namespace weft::sim
