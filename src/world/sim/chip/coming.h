// Completions of one queue that the card has written and the host cannot see yet, and the thread that sleeps until
// there is one. When each becomes visible is known when it is written, so it needs no event of its own: whoever looks
// finds those whose time has come, and a thread that sleeps is woken at the time of the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/time.h"

namespace weft::sim {

class Coming {
 public:
  struct Sleeper {
    Time from;  // it goes on not before this
    std::uint32_t thread;
  };

  // One more, to be seen from `at` on, but behind those before it; when that is.
  Time add(Time at) {
    last_ = std::max(at, last_ + 1);
    when_.push_back(last_);
    return last_;
  }
  // Is there one that can be seen by now? It is no longer coming then.
  bool take(Time now) {
    if (when_.empty() || when_.front() > now) return false;
    when_.pop_front();
    return true;
  }
  [[nodiscard]] Time next() const { return when_.empty() ? kNever : when_.front(); }

  std::optional<Sleeper> sleeper;

 private:
  std::deque<Time> when_;
  Time last_ = 0;
};

}  // namespace weft::sim
