// What a bench makes of its rounds. Machines are shared, and fast for a second and slow for the next: what is compared
// runs right behind each other (side_by_side.h), and the ratio is the median of the rounds' ratios.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace weft::cli {

// What one measure gave, round by round.
class Samples {
 public:
  void add(std::optional<double> value) { by_round_.push_back(value); }  // nothing: it did not run, or not to its end

  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> out;
    for (const auto& value : by_round_) {
      if (value) out.push_back(*value);
    }
    return out;
  }
  [[nodiscard]] std::size_t failed() const { return by_round_.size() - values().size(); }
  [[nodiscard]] std::optional<double> median() const { return median_of(values()); }

  // The median of a / b over the rounds in which both ran.
  [[nodiscard]] static std::optional<double> ratio(const Samples& a, const Samples& b) {
    std::vector<double> out;
    for (std::size_t round = 0; round < std::min(a.by_round_.size(), b.by_round_.size()); ++round) {
      const auto x = a.by_round_[round], y = b.by_round_[round];
      if (x && y && *y > 0) out.push_back(*x / *y);
    }
    return median_of(std::move(out));
  }

 private:
  [[nodiscard]] static std::optional<double> median_of(std::vector<double> values) {
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }

  std::vector<std::optional<double>> by_round_;
};

}  // namespace weft::cli
