// The machine's clock: picoseconds since this program first asked. 63 bits of them last 106 days; counted from the
// machine's start, as CLOCK_MONOTONIC is, they would run out on a machine that is merely well kept.
#pragma once

#include <time.h>

#include "base/time.h"

namespace weft::real {

inline timespec read_clock() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t;
}

inline Time clock_now() {
  static const timespec began = read_clock();
  const timespec t = read_clock();
  return seconds(t.tv_sec - began.tv_sec) + nanoseconds(t.tv_nsec - began.tv_nsec) + seconds(1);
}

}  // namespace weft::real
