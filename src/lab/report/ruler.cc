#include "lab/report/ruler.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace weft::lab {
namespace {

constexpr std::size_t kMostTicks = 9;

// 1, 2, 2.5 or 5 times a power of ten: about five of them in a range.
double round_step(double range) {
  const double rough = range / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

// Sizes as people call them: 64, 4K, 1M.
std::string tick_text(Kind kind, double value) {
  constexpr double kKilo = 1024, kMega = 1024 * 1024;
  if (kind == Kind::size && value >= kMega) return number_text(value / kMega) + "M";
  if (kind == Kind::size && value >= kKilo) return number_text(value / kKilo) + "K";
  return number_text(value);
}

}  // namespace

double round_up(double value) {
  if (value <= 0) return 1;
  const double step = round_step(value);
  return std::ceil(value / step - 1e-9) * step;
}

Ruler::Ruler(Scale scale, double least, double most, const std::vector<AxisPoint>& points, Kind kind)
    : scale_(scale), least_(least), most_(most > least ? most : least + 1), kind_(kind) {
  const bool logarithmic = scale_ == Scale::log2 || scale_ == Scale::log10;
  if (logarithmic && least_ <= 0) scale_ = Scale::linear;  // there is no such place
  switch (scale_) {
    case Scale::linear: add_linear_ticks(); break;
    case Scale::log2: add_power_ticks(2); break;
    case Scale::log10: add_power_ticks(10); break;
    case Scale::steps:
      for (const AxisPoint& point : points) {
        steps_.push_back(point.x);
        ticks_.push_back({point.x, point.label});
      }
      break;
  }
}

void Ruler::add_linear_ticks() {
  const double step = round_step(most_ - least_);
  for (double at = std::ceil(least_ / step - 1e-9) * step; at <= most_ + step * 1e-6; at += step) {
    const double value = std::abs(at) < step * 1e-6 ? 0 : at;
    ticks_.push_back({value, tick_text(kind_, value)});
  }
}

void Ruler::add_power_ticks(double base) {
  const auto exponent = [base](double value) { return std::log(value) / std::log(base); };
  const auto first = static_cast<int>(std::ceil(exponent(least_) - 1e-9));
  const auto last = static_cast<int>(std::floor(exponent(most_) + 1e-9));
  const int every = std::max(1, (last - first) / static_cast<int>(kMostTicks) + 1);
  for (int e = first; e <= last; e += every) {
    const double value = std::pow(base, e);
    ticks_.push_back({value, tick_text(kind_, value)});
  }
}

double Ruler::place(double value) const {
  switch (scale_) {
    case Scale::linear: return (value - least_) / (most_ - least_);
    case Scale::log2:
    case Scale::log10:
      return value <= 0 ? 0 : (std::log(value) - std::log(least_)) / (std::log(most_) - std::log(least_));
    case Scale::steps: break;
  }
  if (steps_.size() < 2) return 0.5;
  const auto above = std::upper_bound(steps_.begin() + 1, steps_.end() - 1, value);
  const auto below = above - 1;
  const double between = (value - *below) / (*above - *below);
  return (static_cast<double>(below - steps_.begin()) + between) / static_cast<double>(steps_.size() - 1);
}

}  // namespace weft::lab
