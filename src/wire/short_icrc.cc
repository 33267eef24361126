#include "wire/short_icrc.h"

#include <cassert>
#include <cstring>

#include "wire/headers.h"

#if defined(__x86_64__)

#include <smmintrin.h>
#include <wmmintrin.h>

#define WEFT_CARRYLESS [[gnu::target("pclmul,sse4.1")]] inline

namespace weft::wire {

const bool kHasShortIcrc = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
}();

namespace {

// Polynomials modulo the CRC's, P, with the coefficient of the highest power in the lowest bit, as the CRC has them.
// Products of such numbers come out one bit short, which is why the powers are shifted by one.
constexpr std::uint64_t power_of_x(unsigned n) {
  std::uint32_t power = 0x8000'0000;  // one
  for (; n > 0; --n) power = (power >> 1) ^ ((power & 1) != 0 ? 0xEDB8'8320 : 0);
  return std::uint64_t{power} << 1;
}
constexpr std::uint64_t kTimesX160 = power_of_x(160), kTimesX96 = power_of_x(96), kTimesX64 = power_of_x(64);
constexpr std::uint64_t kAllOfPolynomial = 0x1'DB71'0641;  // P, all 33 bits

// x^64 divided by P, 33 bits: what Barrett's reduction multiplies by.
constexpr std::uint64_t quotient_of_x64() {
  constexpr std::uint64_t kP = 0x1'04C1'1DB7;  // the highest power in the highest bit
  std::uint64_t quotient = 0, rest = 0;
  for (int power = 64; power >= 0; --power) {
    rest = rest << 1 | (power == 64 ? 1 : 0);
    const bool goes = (rest >> 32) != 0;
    if (goes) rest ^= kP;
    if (power <= 32) quotient |= std::uint64_t{goes} << (32 - power);
  }
  return quotient;
}
constexpr std::uint64_t kQuotient = quotient_of_x64();

using Block = __m128i;

std::uint32_t word(const std::byte* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}
WEFT_CARRYLESS Block words(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return _mm_set_epi64x(static_cast<long long>(std::uint64_t{d} << 32 | c),
                        static_cast<long long>(std::uint64_t{b} << 32 | a));
}
WEFT_CARRYLESS Block number(std::uint64_t low) { return _mm_cvtsi64_si128(static_cast<long long>(low)); }

// Sixteen bytes further: what was seen before has 128 more powers of x, and the next bytes are added.
WEFT_CARRYLESS Block fold(Block sum, Block next) {
  const Block powers = _mm_set_epi64x(kTimesX96, kTimesX160);
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(sum, powers, 0x00), _mm_clmulepi64_si128(sum, powers, 0x11)),
                       next);
}

WEFT_CARRYLESS std::uint32_t reduce(Block sum) {
  const Block low = number(0xFFFF'FFFF);
  sum = _mm_xor_si128(_mm_clmulepi64_si128(sum, number(kTimesX96), 0x00), _mm_srli_si128(sum, 8));  // 96 bits are left
  sum = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(sum, low), number(kTimesX64), 0x00),
                      _mm_srli_si128(sum, 4));  // 64 are
  Block times = _mm_clmulepi64_si128(_mm_and_si128(sum, low), number(kQuotient), 0x00);
  times = _mm_clmulepi64_si128(_mm_and_si128(times, low), number(kAllOfPolynomial), 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, times), 1));
}

}  // namespace

[[gnu::target("pclmul,sse4.1")]] std::uint32_t short_icrc(std::uint32_t before,
                                                          std::span<const std::byte> headers_and_more) {
  const std::byte* at = headers_and_more.data();
  const std::size_t bytes = headers_and_more.size();
  assert(bytes >= Bth::kBytes && bytes % 4 == 0);
  // The BTH was written in words, perhaps just now: it is read in words, or it would have to be waited for. Zeros in
  // front change nothing, so the first block is what makes the others whole.
  const std::uint32_t first = word(at) ^ ~before, second = word(at + 4) | 0xFF, third = word(at + 8);
  const std::byte* const end = at + bytes;
  Block sum;
  switch (bytes % 16) {
    case 0:
      sum = words(first, second, third, word(at + 12));
      at += 16;
      break;
    case 4:
      sum = fold(words(0, 0, 0, first), words(second, third, word(at + 12), word(at + 16)));
      at += 20;
      break;
    case 8:
      sum = fold(words(0, 0, first, second), words(third, word(at + 12), word(at + 16), word(at + 20)));
      at += 24;
      break;
    default:
      sum = words(0, first, second, third);
      at += 12;
      break;
  }
  // reinterpret_cast: what the intrinsic for unaligned memory takes.
  for (; at != end; at += 16) sum = fold(sum, _mm_loadu_si128(reinterpret_cast<const Block*>(at)));
  return ~reduce(sum);
}

}  // namespace weft::wire

#else

namespace weft::wire {

const bool kHasShortIcrc = false;

std::uint32_t short_icrc(std::uint32_t, std::span<const std::byte>) {
  assert(!"there is none for this processor");
  return 0;
}

}  // namespace weft::wire

#endif
