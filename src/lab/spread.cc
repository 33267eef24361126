#include "lab/spread.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::lab {
namespace {

// Two-sided 95 % quantiles of Student's t distribution, by degrees of freedom from 1 on; beyond them, the normal one's.
constexpr std::array<double, 30> kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                          2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                          2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
constexpr double kNormal = 1.960;

}  // namespace

Spread spread_of(std::span<const double> values) {
  Spread s;
  s.count = values.size();
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  s.least = *least;
  s.most = *most;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) s.mean += v;
  s.mean /= n;
  if (values.size() < 2 || s.least == s.most) return s;
  double squares = 0;
  for (const double v : values) squares += (v - s.mean) * (v - s.mean);
  const std::size_t freedom = values.size() - 1;
  const double t = freedom <= kStudent.size() ? kStudent[freedom - 1] : kNormal;
  s.half = t * std::sqrt(squares / static_cast<double>(freedom) / n);
  return s;
}

}  // namespace weft::lab
