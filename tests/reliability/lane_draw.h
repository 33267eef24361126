// One lane of a swarm program: its steps and receives, drawn at random, with memory of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "reliability/program.h"

namespace weft::test {

class Draw : public world::Random {
 public:
  using Random::Random;
  template <class T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }
  // Small ones more often than large ones.
  double probability(double most) {
    const double x = static_cast<double>(below(1000)) / 1000;
    return most * x * x;
  }
};

// Hands out the memory of every host, piece by piece, at odd places.
class Arena {
 public:
  explicit Arena(std::size_t hosts) : next_(hosts, 0) {}
  std::uint64_t take(std::size_t host, std::uint64_t bytes) {
    const std::uint64_t at = next_[host];
    next_[host] += (bytes + 15) / 8 * 8;
    return at;
  }
  // The same, cut into up to `pieces` with gaps between them.
  std::vector<Piece> cut(Draw& draw, std::size_t host, std::uint32_t bytes, std::uint32_t pieces);
  [[nodiscard]] std::size_t largest() const { return *std::max_element(next_.begin(), next_.end()) + 64; }

 private:
  std::vector<std::uint64_t> next_;
};

// Fills in the lane of this direction.
void draw_lane(Draw& draw, Channel& channel, std::size_t direction, const BedSpec& bed, Arena& arena);

}  // namespace weft::test
