// Room for so many things under way at once: reads that have tags, misses that have a buffer. Who comes when all are
// taken waits for the one that came first of those: what takes about the same time for everybody ends in the order in
// which it began.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::sim {

class Slots {
 public:
  explicit Slots(std::uint32_t count) : free_at_(count) {}  // 0: room without limit

  // leave(start) says when who begins at `start` is done; that is answered.
  template <class Leave>
  Time enter(Time from, Leave&& leave) {
    if (free_at_.empty()) return leave(from);
    Time& berth = free_at_[next_];
    if (++next_ == free_at_.size()) next_ = 0;
    return berth = leave(std::max(from, berth));
  }

 private:
  std::vector<Time> free_at_;
  std::size_t next_ = 0;
};

}  // namespace weft::sim
