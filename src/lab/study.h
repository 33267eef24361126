// A plan that has been run, with one seed or several: its points with what came of them, and curves through them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "lab/plan.h"
#include "lab/run.h"
#include "lab/spread.h"

namespace weft::lab {

struct PointResult {
  Outcome outcome;
  std::string failure;  // why there is no outcome
};

// All points, run once: from each point's seed plus the sample's number.
struct Sample {
  std::uint64_t number = 0;
  std::vector<PointResult> results;  // of each point
};

struct Study {
  const Plan* plan = nullptr;
  Extent extent = Extent::full;
  std::vector<Point> points;
  std::vector<Sample> samples;  // at least one once it has been run
};

[[nodiscard]] std::optional<double> metric_of(const PointResult& result, std::string_view metric);

// x of one axis and y of a metric, in the order of x in the plan; where something failed there is no point.
using Curve = std::vector<std::pair<double, double>>;
// The same over all seeds; there is no point where one of them failed.
using SpreadCurve = std::vector<std::pair<double, Spread>>;

// A value of an axis that stays the same along a curve.
struct Pin {
  std::size_t axis;
  double x;
};
// `failure`: where the first failed point's reason goes.
[[nodiscard]] Curve curve_of(const Study& study, const Sample& sample, std::size_t series, std::size_t x_axis,
                             const std::vector<Pin>& pins, std::string_view metric, std::string* failure = nullptr);
[[nodiscard]] SpreadCurve spread_curve_of(const Study& study, std::size_t series, std::size_t x_axis,
                                          const std::vector<Pin>& pins, std::string_view metric);

// A line of a figure: a series, with the axes that are not x at one value each.
struct Line {
  std::size_t series;
  std::vector<Pin> pins;
  std::string label;
};
[[nodiscard]] std::vector<Line> lines_of(const Study& study, const Plot& plot);

// A run that failed, in words.
struct Failure {
  std::string series, where, reason;
  std::uint64_t seed;
};
[[nodiscard]] std::vector<Failure> failures_of(const Study& study);

// "12.3", "12.3 ± 0.4" with several seeds
[[nodiscard]] std::string spread_text(const Spread& spread);

// "qps 128, bytes 512"
[[nodiscard]] std::string where_text(const Plan& plan, const Point& point);

}  // namespace weft::lab
