// What happens next. Events are small values; the queue is flat and allocates only when it grows beyond anything it
// held before.
//
// Order: by time; at the same picosecond by `tie`, a bijective mixture of the seed and the event's number. So events of
// one time come in an order that is fair (no one is always first because he asked first), different for every seed and
// the same in every run of a seed. Ties are unique, hence the order is total and does not depend on how the queue is
// built. Whoever needs first-in-first-out must make its times distinct, as links do.
//
// There is no cancelling here: an event carries an argument by which its receiver knows that it is stale.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "world/random.h"
#include "world/sim/event.h"
#include "world/sim/event_heap.h"
#include "world/sim/event_wheel.h"

namespace weft::sim {

// Three parts. The wheel holds what comes at or after `near_end_`, in buckets. Its first bucket, sorted, is the run:
// taking from it is reading the next element. What is pushed before `near_end_` after that goes to a small heap; if
// that grows too large, all is poured back into the wheel and begins again with a smaller bucket. So a push and a pop
// cost about the same with a hundred events and with a million, whatever the distribution of times, and nothing needs
// tuning. Measured beside one 4-ary heap: bench/sim_queue_bench.cc.
class EventQueue {
 public:
  explicit EventQueue(std::uint64_t seed) : salt_(world::mix64(seed + world::kGolden)) {}

  // `at` must not lie before now(): the past does not change.
  void push(Time at, std::uint8_t kind, std::uint32_t target, std::uint32_t argument) {
    assert(at >= now_ && at < kNever && target <= Event::kMaxTarget);
    const Event event{at, world::mix64(salt_ + pushed_++ * world::kGolden), Event::pack(kind, target), argument};
    if (at >= near_end_) {
      wheel_.push(event);
    } else {
      heap_.push(event);
      if (heap_.size() > kSpillAt) [[unlikely]]
        spill();
    }
  }

  // The next event's time, kNever when there is none.
  [[nodiscard]] Time next_time() { return ready() ? first().at : kNever; }

  // The next event, if it is not later than `limit`. Time moves on to it.
  bool pop(Event& out, Time limit = kNever) {
    if (!ready()) return false;
    const bool run_first = run_is_first();
    const Event& next = run_first ? run_[head_] : heap_.top();
    if (next.at > limit) return false;
    out = next;
    now_ = out.at;
    if (run_first) {
      ++head_;
    } else {
      heap_.pop();
    }
    return true;
  }

  // An event that will be popped soon, `ahead` places from now, or nullptr: a hint for fetching memory ahead of time.
  [[nodiscard]] const Event* glimpse(std::size_t ahead) const {
    return head_ + ahead < run_.size() ? &run_[head_ + ahead] : nullptr;
  }

  [[nodiscard]] bool begins_run() const { return head_ == 1; }

  // The time of the last event popped, or the time the world was moved on to.
  [[nodiscard]] Time now() const { return now_; }
  void advance_to(Time at) {
    assert(at >= now_ && at <= next_time());
    now_ = at;
  }

  [[nodiscard]] std::size_t size() const { return run_.size() - head_ + heap_.size() + wheel_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::uint64_t pushed() const { return pushed_; }

 private:
  static constexpr std::size_t kRun = 24;       // a bucket this small is worth sorting as it is
  static constexpr std::size_t kSpillAt = 128;  // a heap this large is poured back, if that can make it smaller

  bool ready() {
    if (head_ < run_.size() || !heap_.empty()) return true;
    if (wheel_.empty()) return false;
    refill();
    return true;
  }
  [[nodiscard]] bool run_is_first() const {
    return head_ < run_.size() && (heap_.empty() || run_[head_].before(heap_.top()));
  }
  [[nodiscard]] const Event& first() const { return run_is_first() ? run_[head_] : heap_.top(); }

  void refill() {
    run_.clear();
    head_ = 0;
    near_end_ = wheel_.take_first(kRun, run_);
    if (run_.size() > kRun) {  // so many at one picosecond
      std::sort(run_.begin(), run_.end(), [](const Event& a, const Event& b) { return a.before(b); });
      return;
    }
    for (std::size_t i = 1; i < run_.size(); ++i) {
      const Event moving = run_[i];
      std::size_t hole = i;
      for (; hole > 0 && moving.before(run_[hole - 1]); --hole) run_[hole] = run_[hole - 1];
      run_[hole] = moving;
    }
  }

  void spill() {
    // One picosecond cannot be divided; and the wheel's base never moves back to what was pushed before it.
    if (near_end_ - wheel_.base() <= 1 || first().at < wheel_.base()) return;
    wheel_.rebase(first().at);
    heap_.drain([this](const Event& event) { wheel_.push(event); });
    for (; head_ < run_.size(); ++head_) wheel_.push(run_[head_]);
    refill();
  }

  Time now_ = 0;
  Time near_end_ = 0;       // every event before this is in run_ or heap_, every other in wheel_
  std::vector<Event> run_;  // sorted, taken from head_ on
  std::size_t head_ = 0;
  EventHeap heap_;
  EventWheel wheel_;
  std::uint64_t salt_;
  std::uint64_t pushed_ = 0;
};

}  // namespace weft::sim
