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

// Without a branch that depends on the values: each is written, and the next one over it if it was none.
std::size_t find_hashes_one_by_one(const std::byte* values, std::size_t n, std::uint64_t bits, std::uint64_t* hashes) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t hash = hash_of(word_at(values + i * 8));
    hashes[found] = hash;
    found += (hash & bits) == 0 ? 1 : 0;
  }
  return found;
}

#ifdef __x86_64__

#define WEFT_WIDE [[gnu::target("avx512f,avx512dq,avx512cd,avx512vl")]]

using Words = std::uint64_t __attribute__((vector_size(64)));

WEFT_WIDE inline Words hashes_of(const std::byte* values) {
  Words x;
  std::memcpy(&x, values, sizeof x);
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53;
  return x ^ x >> 33;
}

WEFT_WIDE void find_eight_at_a_time(const std::byte* values, std::size_t n, std::uint16_t* places, std::uint8_t* runs) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const Words x = hashes_of(values + i * 8);
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

WEFT_WIDE std::size_t find_hashes_eight_at_a_time(const std::byte* values, std::size_t n, std::uint64_t bits,
                                                  std::uint64_t* hashes) {
  const __m512i unwanted = _mm512_set1_epi64(static_cast<long long>(bits));
  std::size_t i = 0, found = 0;
  for (; i + 8 <= n; i += 8) {
    const Words x = hashes_of(values + i * 8);
    __m512i raw;
    std::memcpy(&raw, &x, sizeof raw);
    const __mmask8 some = _mm512_testn_epi64_mask(raw, unwanted);
    raw = _mm512_maskz_compress_epi64(some, raw);
    std::memcpy(hashes + found, &raw, sizeof raw);
    found += static_cast<std::size_t>(std::popcount(static_cast<std::uint32_t>(some)));
  }
  return found + find_hashes_one_by_one(values + i * 8, n - i, bits, hashes + found);
}

bool is_wide() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}

bool wide() {
  static const bool answer = is_wide();
  return answer;
}

#endif

}  // namespace

void find_registers(const std::byte* values, std::size_t n, std::uint16_t* places, std::uint8_t* runs) {
#ifdef __x86_64__
  if (wide()) return find_eight_at_a_time(values, n, places, runs);
#endif
  find_one_by_one(values, n, places, runs);
}

std::size_t find_hashes(const std::byte* values, std::size_t n, std::uint64_t bits, std::uint64_t* hashes) {
#ifdef __x86_64__
  if (wide()) return find_hashes_eight_at_a_time(values, n, bits, hashes);
#endif
  return find_hashes_one_by_one(values, n, bits, hashes);
}

}  // namespace weft::kernels
