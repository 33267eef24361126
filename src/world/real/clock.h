// The machine's clock: picoseconds of CLOCK_MONOTONIC. Programs on one machine read the same time.
#pragma once

#include <time.h>

#include "base/time.h"

namespace weft::real {

inline Time clock_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

}  // namespace weft::real
