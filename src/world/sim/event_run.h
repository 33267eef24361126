// The events that come next, sorted: taking the first is reading the next element. It is kept short, so that one more
// finds its place after few steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "world/sim/event.h"

namespace weft::sim {

class EventRun {
 public:
  [[nodiscard]] bool empty() const { return head_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - head_; }
  [[nodiscard]] const Event& operator[](std::size_t i) const { return events_[head_ + i]; }
  [[nodiscard]] const Event& first() const { return events_[head_]; }
  void pop() { ++head_; }

  // Most come soon or behind all others: those before it move, or those behind it, whichever end is nearer.
  void insert(const Event& event) {
    if (head_ > 0 && head_ < end_ && event.before(events_[head_ + size() / 2])) {
      Event* hole = &events_[--head_];
      for (; hole[1].before(event); ++hole) *hole = hole[1];
      *hole = event;
    } else {
      if (end_ == events_.size()) make_room();
      sink(end_++, event);
    }
  }
  // The same for many, into an empty run, in no order: sort() comes after them.
  void append(const Event& event) {
    if (end_ == events_.size()) make_room();
    events_[end_++] = event;
  }
  void sort() {
    constexpr std::size_t kFew = 32;  // are sorted faster by moving them one by one
    if (size() > kFew) {
      const auto first = events_.begin() + static_cast<std::ptrdiff_t>(head_);
      std::sort(first, first + static_cast<std::ptrdiff_t>(size()),
                [](const Event& a, const Event& b) { return a.before(b); });
      return;
    }
    for (std::size_t i = head_ + 1; i < end_; ++i) sink(i, Event(events_[i]));
  }

  // Gives up all events.
  template <class Sink>
  void drain(Sink&& sink_one) {
    for (; head_ < end_; ++head_) sink_one(events_[head_]);
  }

 private:
  // Into the hole, or as far before it as it belongs.
  void sink(std::size_t at, const Event& event) {
    Event *hole = &events_[at], *const first = &events_[head_];
    for (; hole != first && event.before(hole[-1]); --hole) *hole = hole[-1];
    *hole = event;
  }
  void make_room() {
    constexpr std::size_t kAtFirst = 512;
    if (size() > events_.size() / 2 || events_.empty()) events_.resize(std::max(kAtFirst, 2 * events_.size()));
    std::copy(events_.begin() + static_cast<std::ptrdiff_t>(head_), events_.begin() + static_cast<std::ptrdiff_t>(end_),
              events_.begin());
    end_ -= head_;
    head_ = 0;
  }

  std::vector<Event> events_;
  std::size_t head_ = 0, end_ = 0;  // those between are here
};

}  // namespace weft::sim
