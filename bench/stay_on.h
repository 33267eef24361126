// A thread of a benchmark keeps to one processor, or two that should run side by side would share one for a while.
#pragma once

#include <pthread.h>

namespace weft {

inline void stay_on(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // if that is not allowed, it goes as it goes
}

}  // namespace weft
