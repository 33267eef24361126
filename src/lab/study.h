// A plan that has been run: its points with what came of them, and curves through them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "lab/plan.h"
#include "lab/run.h"

namespace weft::lab {

struct PointResult {
  Outcome outcome;
  std::string failure;  // why there is no outcome
};

struct Study {
  const Plan* plan = nullptr;
  Extent extent = Extent::full;
  std::vector<Point> points;
  std::vector<PointResult> results;  // of each point
};

[[nodiscard]] std::optional<double> metric_of(const PointResult& result, std::string_view metric);

// x of one axis and y of a metric, in the order of x in the plan; where something failed there is no point.
using Curve = std::vector<std::pair<double, double>>;

// A value of an axis that stays the same along a curve.
struct Pin {
  std::size_t axis;
  double x;
};
// `failure`: where the first failed point's reason goes.
[[nodiscard]] Curve curve_of(const Study& study, std::size_t series, std::size_t x_axis, const std::vector<Pin>& pins,
                             std::string_view metric, std::string* failure = nullptr);

// A line of a figure: a series, with the axes that are not x at one value each.
struct Line {
  std::size_t series;
  std::vector<Pin> pins;
  std::string label;
};
[[nodiscard]] std::vector<Line> lines_of(const Study& study, const Plot& plot);

// "qps 128, bytes 512"
[[nodiscard]] std::string where_text(const Plan& plan, const Point& point);

}  // namespace weft::lab
