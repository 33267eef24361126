// Room for so many things under way at once: reads that have tags, misses that have a buffer. Who comes when all are
// taken waits for the one that is free first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::sim {

class Berths {
 public:
  explicit Berths(std::uint32_t count) : free_at_(count) {}  // 0: room without limit

  // leave(start) says when who begins at `start` is done; that is answered.
  template <class Leave>
  Time enter(Time from, Leave&& leave) {
    if (free_at_.empty()) return leave(from);
    // A heap with the earliest on top.
    std::pop_heap(free_at_.begin(), free_at_.end(), std::greater<>());
    const Time end = leave(std::max(from, free_at_.back()));
    free_at_.back() = end;
    std::push_heap(free_at_.begin(), free_at_.end(), std::greater<>());
    return end;
  }

 private:
  std::vector<Time> free_at_;
};

}  // namespace weft::sim
