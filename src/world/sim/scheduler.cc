#include "world/sim/scheduler.h"

#include <cassert>
#include <utility>

namespace weft::sim {

// The outermost coroutine of a spawned task. It tells the scheduler how the task ended, and is gone.
struct Scheduler::Root {
  struct promise_type {
    Scheduler* scheduler;
    std::uint32_t slot;

    promise_type(Scheduler* runs_in, std::uint32_t job, const Task<>&) : scheduler(runs_in), slot(job) {}
    Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() const { scheduler->finished(slot); }
    void unhandled_exception() const {
      if (!scheduler->failure_) scheduler->failure_ = std::current_exception();
      scheduler->finished(slot);
    }
  };
  std::coroutine_handle<promise_type> handle;
};

Scheduler::Root Scheduler::run(Scheduler*, std::uint32_t, Task<> task) { co_await std::move(task); }

void Scheduler::abandon() {
  for (std::uint32_t slot = 0; slot < jobs_.size(); ++slot) {
    if (!jobs_[slot].root) continue;
    jobs_[slot].joiners.clear();  // they go as well
    const std::coroutine_handle<> root = jobs_[slot].root;
    finished(slot);
    root.destroy();
  }
  for (std::uint32_t slot = 0; slot < parked_.size(); ++slot) {
    if (!parked_[slot].handle) continue;
    parked_[slot].handle = nullptr;
    ++parked_[slot].generation;
    free_parked_.push_back(slot);
  }
}

Job Scheduler::spawn(Task<> task) {
  if (free_jobs_.empty()) {
    free_jobs_.push_back(static_cast<std::uint32_t>(jobs_.size()));
    jobs_.emplace_back();
  }
  const std::uint32_t slot = free_jobs_.back();
  free_jobs_.pop_back();
  JobState& job = jobs_[slot];
  job.root = run(this, slot, std::move(task)).handle;
  ++unfinished_;
  notify(park(job.root));
  return {slot, job.generation};
}

void Scheduler::finished(std::uint32_t slot) {
  JobState& job = jobs_[slot];
  job.root = nullptr;
  ++job.generation;
  for (const Ticket joiner : job.joiners) notify(joiner);
  job.joiners.clear();
  free_jobs_.push_back(slot);
  --unfinished_;
}

Scheduler::Ticket Scheduler::park(std::coroutine_handle<> waiting) {
  if (free_parked_.empty()) {
    free_parked_.push_back(static_cast<std::uint32_t>(parked_.size()));
    parked_.emplace_back();
  }
  const std::uint32_t slot = free_parked_.back();
  free_parked_.pop_back();
  parked_[slot].handle = waiting;
  parked_[slot].notified = false;
  return {slot, parked_[slot].generation};
}

bool Scheduler::waits(Ticket ticket) const {
  const Parked& parked = parked_[ticket.slot];
  return parked.generation == ticket.generation && !parked.notified;
}

void Scheduler::notify(Ticket ticket) {
  assert(waits(ticket));
  parked_[ticket.slot].notified = true;
  resume_at(ticket, now(), FabricEventKind::resume);
}

void Scheduler::resume_at(Ticket ticket, Time at, FabricEventKind kind) {
  assert(kind == FabricEventKind::resume || kind == FabricEventKind::time_out);
  queue_->push(at, static_cast<std::uint8_t>(kind), ticket.slot, ticket.generation);
}

void Scheduler::on_event(FabricEventKind kind, std::uint32_t slot, std::uint32_t generation) {
  Parked& parked = parked_[slot];
  if (parked.generation != generation) return;                       // it has gone on already
  if (kind == FabricEventKind::time_out && parked.notified) return;  // its notice is on the way
  ++parked.generation;
  free_parked_.push_back(slot);
  timed_out_ = kind == FabricEventKind::time_out;
  std::exchange(parked.handle, nullptr).resume();
}

void Scheduler::rethrow_failure() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

Task<> all(Scheduler& scheduler, std::vector<Task<>> tasks) {
  std::vector<Job> jobs;
  jobs.reserve(tasks.size());
  for (Task<>& task : tasks) jobs.push_back(scheduler.spawn(std::move(task)));
  for (const Job job : jobs) co_await scheduler.join(job);
}

}  // namespace weft::sim
