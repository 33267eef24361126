// A limit on what is under way at once: reads that have tags, misses that have a buffer. If all slots are taken, who
// comes waits for the thing that began first. What takes about the same time for everybody ends in that order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::sim {

class ConcurrencyLimit {
 public:
  explicit ConcurrencyLimit(std::uint32_t count) : free_at_(count) {}  // 0: room without limit

  // leave(start) says when who begins at `start` is done; that is answered.
  template <class Leave>
  Time enter(Time from, Leave&& leave) {
    if (free_at_.empty()) return leave(from);
    Time& oldest = free_at_[next_];
    if (++next_ == free_at_.size()) next_ = 0;
    return oldest = leave(std::max(from, oldest));
  }

 private:
  std::vector<Time> free_at_;
  std::size_t next_ = 0;
};

}  // namespace weft::sim
