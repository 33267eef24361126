// Benchmarks of two threads, a processor each: build/bench/NAME [ROUNDS].
#pragma once

#include <cstddef>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>
#include <pthread.h>

namespace weft {

// Threads that should run side by side would share a processor for a while.
inline void stay_on(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // if that is not allowed, it goes as it goes
}

// All that main() does.
inline int run_rounds(int argc, char** argv, int (*run)(std::size_t rounds)) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  if (rounds < 1 || std::thread::hardware_concurrency() < 2) {
    fmt::print(stderr, "{} [ROUNDS]: at least one, on at least two processors\n", argv[0]);
    return 2;
  }
  stay_on(0);
  return run(static_cast<std::size_t>(rounds));
}

}  // namespace weft
