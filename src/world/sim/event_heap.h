// A heap of events: four children to a node, so half the depth of a binary heap and one or two cache lines a level.
#pragma once

#include <cstddef>
#include <vector>

#include "world/sim/event.h"

namespace weft::sim {

class EventHeap {
 public:
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] std::size_t size() const { return events_.size(); }
  [[nodiscard]] const Event& top() const { return events_.front(); }

  void push(const Event& event) {
    std::size_t hole = events_.size();
    events_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!event.before(events_[parent])) break;
      events_[hole] = events_[parent];
      hole = parent;
    }
    events_[hole] = event;
  }

  void pop() {
    const Event last = events_.back();
    events_.pop_back();
    const std::size_t size = events_.size();
    if (size == 0) return;
    std::size_t hole = 0;
    for (;;) {
      const std::size_t first = 4 * hole + 1;
      if (first >= size) break;
      const std::size_t end = first + 4 < size ? first + 4 : size;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (events_[child].before(events_[least])) least = child;
      }
      if (!events_[least].before(last)) break;
      events_[hole] = events_[least];
      hole = least;
    }
    events_[hole] = last;
  }

  // Gives up all events, in no order.
  template <class Sink>
  void drain(Sink&& sink) {
    for (const Event& event : events_) sink(event);
    events_.clear();
  }

 private:
  std::vector<Event> events_;
};

}  // namespace weft::sim
