// Events of which each comes after the one before it, as the packets on a link arrive. Only the first needs to stand in
// the event queue, which stays short however many packets are under way; when it has happened, the next takes its
// place.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "world/sim/event.h"

namespace weft::sim {

class EventLine {
 public:
  // Is this the first, which belongs into the queue? The others wait here. It comes after all that are in line.
  [[nodiscard]] bool joins_as_first(const Event& event) {
    if (!std::exchange(announced_, true)) return true;
    if (waiting_ == ring_.size()) grow();
    assert(waiting_ == 0 || ring_[place(waiting_ - 1)].before(event));
    ring_[place(waiting_++)] = event;
    return false;
  }
  // The first has happened. Is there another one, for the queue?
  [[nodiscard]] bool has_next(Event& next) {
    assert(announced_);
    if (waiting_ == 0) {
      announced_ = false;
      return false;
    }
    next = ring_[head_];
    head_ = place(1);
    --waiting_;
    return true;
  }

 private:
  [[nodiscard]] std::size_t place(std::size_t i) const { return (head_ + i) & (ring_.size() - 1); }
  void grow() {
    constexpr std::size_t kAtFirst = 16;
    std::vector<Event> larger(ring_.empty() ? kAtFirst : 2 * ring_.size());
    for (std::size_t i = 0; i < waiting_; ++i) larger[i] = ring_[place(i)];
    ring_.swap(larger);
    head_ = 0;
  }

  std::vector<Event> ring_;  // a power of two
  std::size_t head_ = 0, waiting_ = 0;
  bool announced_ = false;  // one is in the queue
};

}  // namespace weft::sim
