// A kernel in hardware: a pipeline that all its instances share, and as many instances as there are. A call waits until
// one is free, and keeps it until its end, also while it waits for the bus.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/time.h"
#include "world/sim/chip/reservations.h"

namespace weft::sim {

class KernelUnit {
 public:
  explicit KernelUnit(std::uint32_t instances) : free_at_(instances, 0) {}

  // An instance begins; when it can.
  Time begin() {
    if (free_at_.empty()) return 0;  // those that a queue pair's end took with it
    std::pop_heap(free_at_.begin(), free_at_.end(), std::greater<>{});
    const Time at = free_at_.back();
    free_at_.pop_back();
    return at;
  }
  void end(Time at) {
    free_at_.push_back(at);
    std::push_heap(free_at_.begin(), free_at_.end(), std::greater<>{});
  }

  Reservations pipeline;

 private:
  std::vector<Time> free_at_;  // a heap: the earliest first
};

}  // namespace weft::sim
