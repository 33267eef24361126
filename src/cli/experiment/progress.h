// How many runs are done: one line on a terminal that is written over; nothing at all elsewhere.
#pragma once

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "lab/sweep.h"

namespace weft::cli {

class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const lab::Progress& p) const {
    if (!shown_) return;
    const auto left = static_cast<long>(p.seconds_left + 0.5);
    fmt::print(stderr, "\r\033[K{} of {} runs{}", p.done, p.total,
               p.seconds_left < 0 ? "" : fmt::format(", {}:{:02} left", left / 60, left % 60));
    std::fflush(stderr);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool shown_;
};

}  // namespace weft::cli
