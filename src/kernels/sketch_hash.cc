#include "kernels/sketch_hash.h"

#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace weft::kernels {
namespace {

void find_one_by_one(const std::byte* values, std::size_t n, std::uint16_t* places, std::uint8_t* runs) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t hash = hash_of(word_at(values + i * 8));
    places[i] = place_of_hash(hash);
    runs[i] = run_of_hash(hash);
  }
}

#ifdef __x86_64__

#define WEFT_WIDE [[gnu::target("avx512f,avx512dq,avx512cd,avx512vl")]]

using Words = std::uint64_t __attribute__((vector_size(64)));

WEFT_WIDE void find_eight_at_a_time(const std::byte* values, std::size_t n, std::uint16_t* places, std::uint8_t* runs) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    Words x;
    std::memcpy(&x, values + i * 8, sizeof x);
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53;
    x ^= x >> 33;
    const Words rest = x << kSketchBits | (1ULL << (kSketchBits - 1)), place = x >> (64 - kSketchBits);
    __m512i raw;
    std::memcpy(&raw, &place, sizeof raw);
    _mm512_mask_cvtepi64_storeu_epi16(places + i, 0xFF, raw);
    std::memcpy(&raw, &rest, sizeof raw);
    raw = _mm512_lzcnt_epi64(raw);
    Words run;
    std::memcpy(&run, &raw, sizeof run);
    ++run;
    std::memcpy(&raw, &run, sizeof raw);
    _mm512_mask_cvtepi64_storeu_epi8(runs + i, 0xFF, raw);
  }
  find_one_by_one(values + i * 8, n - i, places + i, runs + i);
}

bool is_wide() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

#endif

}  // namespace

void find_registers(const std::byte* values, std::size_t n, std::uint16_t* places, std::uint8_t* runs) {
#ifdef __x86_64__
  static const bool wide = is_wide();
  if (wide) return find_eight_at_a_time(values, n, places, runs);
#endif
  find_one_by_one(values, n, places, runs);
}

}  // namespace weft::kernels
