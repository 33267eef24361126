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

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "world/random.h"
#include "world/sim/event.h"
#include "world/sim/event_heap.h"
#include "world/sim/event_run.h"
#include "world/sim/event_wheel.h"

namespace weft::sim {

// Three parts. The wheel holds what comes at or after `near_end_`, in buckets. Its first buckets, sorted, are the run:
// taking from it is reading the next element. What is pushed before `near_end_` finds its place in the run while that
// is short, and goes to a small heap otherwise; if that grows too large, all is poured back into the wheel and begins
// again with a smaller bucket. So a push and a pop cost about the same with a hundred events and with a million,
// whatever the distribution of times, and nothing needs tuning; and while there are few events, the run has all of
// them. Measured beside one 4-ary heap: bench/sim_queue_bench.cc.
class EventQueue {
 public:
  explicit EventQueue(std::uint64_t seed) : salt_(world::mix64(seed + world::kGolden)) {}

  // `at` must not lie before now(): the past does not change.
  void push(Time at, std::uint8_t kind, std::uint32_t target, std::uint32_t argument) {
    push(make(at, kind, target, argument));
  }
  // An event that has its tie from now on, but is pushed later, before it is its turn: for what stands in a line.
  [[nodiscard]] Event make(Time at, std::uint8_t kind, std::uint32_t target, std::uint32_t argument) {
    assert(at >= now_ && at < kNever && target <= Event::kMaxTarget);
    return {at, world::mix64(salt_ + made_++ * world::kGolden), Event::pack(kind, target), argument};
  }
  void push(const Event& event) {
    if (event.at >= near_end_) {
      wheel_.push(event);
    } else if (run_.size() < kLongest) [[likely]] {
      run_.insert(event);
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
    begins_run_ = false;
    if (!ready()) return false;
    const bool run_first = run_is_first();
    const Event& next = run_first ? run_.first() : heap_.top();
    if (next.at > limit) return false;
    out = next;
    now_ = out.at;
    if (run_first) {
      run_.pop();
    } else {
      heap_.pop();
    }
    return true;
  }

  // An event that will be popped soon, `ahead` places from now, or nullptr: a hint for fetching memory ahead of time.
  [[nodiscard]] const Event* glimpse(std::size_t ahead) const { return ahead < run_.size() ? &run_[ahead] : nullptr; }
  // The event popped last was the first of many that could not be glimpsed before.
  [[nodiscard]] bool begins_run() const { return begins_run_; }

  // The time of the last event popped, or the time the world was moved on to.
  [[nodiscard]] Time now() const { return now_; }
  void advance_to(Time at) {
    assert(at >= now_ && at <= next_time());
    now_ = at;
  }

  [[nodiscard]] std::size_t size() const { return run_.size() + heap_.size() + wheel_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // How many events there ever were.
  [[nodiscard]] std::uint64_t made() const { return made_; }

 private:
  static constexpr std::size_t kRun = 24;       // a bucket this small is worth sorting as it is
  static constexpr std::size_t kLongest = 64;   // a run this long takes no more
  static constexpr std::size_t kSpillAt = 128;  // a heap this large is poured back, if that can make it smaller

  bool ready() {
    if (!run_.empty() || !heap_.empty()) return true;
    if (wheel_.empty()) return false;
    refill();
    return true;
  }
  [[nodiscard]] bool run_is_first() const {
    return heap_.empty() || (!run_.empty() && run_.first().before(heap_.top()));
  }
  [[nodiscard]] const Event& first() const { return run_is_first() ? run_.first() : heap_.top(); }

  void refill() {
    near_end_ = wheel_.take_first(kRun, [this](const Event& event) { run_.append(event); });
    run_.sort();
    // With more than that at one picosecond, what is pushed for it later must not go through the wheel again.
    if (wheel_.empty() && run_.size() <= kRun) near_end_ = kNever;
    begins_run_ = true;
  }

  void spill() {
    // One picosecond cannot be divided; and the wheel's base never moves back to what was pushed before it.
    if (near_end_ - wheel_.base() <= 1 || (first().at < wheel_.base() && !wheel_.empty())) return;
    wheel_.rebase(first().at);
    heap_.drain([this](const Event& event) { wheel_.push(event); });
    run_.drain([this](const Event& event) { wheel_.push(event); });
    refill();
  }

  Time now_ = 0;
  Time near_end_ = kNever;  // every event before this is in run_ or heap_, every other in wheel_
  EventRun run_;
  bool begins_run_ = false;
  EventHeap heap_;
  EventWheel wheel_;
  std::uint64_t salt_;
  std::uint64_t made_ = 0;
};

}  // namespace weft::sim
