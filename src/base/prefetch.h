// Asks for a cache line that will be written soon.
#pragma once

namespace weft {

inline void prefetch(const void* line) {
  __builtin_prefetch(line, 1);
  asm volatile("");  // g++ 12 takes a function that only prefetches for one that does nothing, and drops calls of it
}

}  // namespace weft
