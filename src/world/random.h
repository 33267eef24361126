// The only source of chance in the simulated world. Integer arithmetic alone, so that a seed draws the same
// numbers on every machine and with every compiler; <random>'s distributions promise no such thing.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

namespace weft::world {

// Splitmix64's finalizer: a bijection of 64 bits in which every input bit reaches every output bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9u;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGolden = 0x9E37'79B9'7F4A'7C15u;  // 2^64 / phi, odd: steps through all 64-bit values

// A probability as the number of 64-bit values, of 2^64, that mean yes. Scaling by a power of two is exact.
class Chance {
 public:
  constexpr Chance() = default;
  constexpr explicit Chance(double p) {
    if (!(p > 0)) return;
    always_ = p >= 1;
    if (!always_) yes_ = static_cast<std::uint64_t>(p * 0x1p64);
  }
  [[nodiscard]] constexpr bool possible() const { return always_ || yes_ != 0; }
  [[nodiscard]] constexpr bool hit(std::uint64_t drawn) const { return always_ || drawn < yes_; }

 private:
  std::uint64_t yes_ = 0;
  bool always_ = false;
};

// xoshiro256** by Blackman and Vigna, seeded by splitmix64.
class Random {
 public:
  constexpr explicit Random(std::uint64_t seed) : seed_(seed) {
    for (std::uint64_t& word : state_) word = mix64(seed += kGolden);
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // 0 ... n - 1, each as likely as the other: Lemire's multiplication, rejecting the few that would bias it.
  constexpr std::uint64_t below(std::uint64_t n) {
    assert(n > 0);
    Wide product = Wide{next()} * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t reject = (0 - n) % n;
      while (static_cast<std::uint64_t>(product) < reject) product = Wide{next()} * n;
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  // Both ends included.
  constexpr std::int64_t between(std::int64_t a, std::int64_t b) {
    assert(a <= b);
    const std::uint64_t span = static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a) + 1;
    const std::uint64_t offset = span == 0 ? next() : below(span);  // span 0: all 2^64 values
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + offset);
  }

  constexpr bool chance(Chance chance) { return chance.hit(next()); }
  constexpr bool chance(double p) { return chance(Chance(p)); }

  // A stream of its own for `tag`. It depends on the seed and the tag, not on what was drawn here before, so one
  // more draw in one place does not change what all other places see.
  [[nodiscard]] constexpr Random fork(std::uint64_t tag) const {
    return Random(mix64(seed_ ^ mix64(tag + kGolden)) + kGolden);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace weft::world
