// A number that was measured with several seeds.
#pragma once

#include <cstddef>
#include <span>

namespace weft::lab {

struct Spread {
  double mean = 0;
  double half = 0;  // of the interval that holds the true mean in 95 of 100 cases (Student's t)
  double least = 0, most = 0;
  std::size_t count = 0;  // how many seeds; with one there is no interval
};

// There must be at least one value.
[[nodiscard]] Spread spread_of(std::span<const double> values);

}  // namespace weft::lab
