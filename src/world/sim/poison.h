// Under AddressSanitizer, memory that lies unused in a pool may not be touched: who keeps a packet's payload longer
// than it is his is told so. Otherwise these are nothing.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_SIM_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_SIM_POISON 1
#endif
#endif

#if defined(WEFT_SIM_POISON)
#include <sanitizer/asan_interface.h>
#endif

namespace weft::sim {

#if defined(WEFT_SIM_POISON)
inline void poison(const void* at, std::size_t bytes) { __asan_poison_memory_region(at, bytes); }
inline void unpoison(const void* at, std::size_t bytes) { __asan_unpoison_memory_region(at, bytes); }
#else
inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}
#endif

}  // namespace weft::sim
