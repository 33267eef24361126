// The machine's clock: nanoseconds since this program first asked, and a second.
#pragma once

#include <time.h>

#include "world/real/os/time.h"

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
