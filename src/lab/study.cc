#include "lab/study.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::lab {
namespace {

const AxisPoint* find_x(const Axis& axis, double x) {
  const auto found = std::find_if(axis.points.begin(), axis.points.end(), [&](const auto& p) { return p.x == x; });
  return found == axis.points.end() ? nullptr : &*found;
}

std::string x_text(const Axis& axis, double x) {
  const AxisPoint* point = find_x(axis, x);
  return point != nullptr ? point->label : number_text(x);
}

bool lies_on(const Point& point, const std::vector<Pin>& pins) {
  return std::all_of(pins.begin(), pins.end(), [&](const Pin& p) { return point.at[p.axis] == p.x; });
}

}  // namespace

std::optional<double> metric_of(const PointResult& result, std::string_view metric) {
  for (const auto& [name, value] : result.outcome) {
    if (name == metric) return value;
  }
  return std::nullopt;
}

std::string where_text(const Plan& plan, const Point& point) {
  std::string text;
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", plan.axes[i].key, x_text(plan.axes[i], point.at[i]));
  }
  return text;
}

Curve curve_of(const Study& study, const Sample& sample, std::size_t series, std::size_t x_axis,
               const std::vector<Pin>& pins, std::string_view metric, std::string* failure) {
  Curve curve;
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const Point& point = study.points[i];
    if (point.series != series || !lies_on(point, pins)) continue;
    const auto y = metric_of(sample.results[i], metric);
    if (y) {
      curve.emplace_back(x_axis < point.at.size() ? point.at[x_axis] : 0, *y);
    } else if (failure != nullptr && failure->empty()) {
      const std::string& reason = sample.results[i].failure;
      *failure = fmt::format("{}{}{}: {}", study.plan->series[series].name, point.at.empty() ? "" : " at ",
                             where_text(*study.plan, point),
                             reason.empty() ? fmt::format("no {} was measured", metric) : reason);
    }
  }
  return curve;
}

std::vector<Failure> failures_of(const Study& study) {
  std::vector<Failure> all;
  for (const Sample& sample : study.samples) {
    for (std::size_t i = 0; i < study.points.size(); ++i) {
      if (sample.results[i].failure.empty()) continue;
      const Point& point = study.points[i];
      all.push_back({.series = study.plan->series[point.series].label,
                     .where = where_text(*study.plan, point),
                     .reason = sample.results[i].failure,
                     .seed = point.setting.seed + sample.number});
    }
  }
  return all;
}

std::string spread_text(const Spread& spread) {
  const std::string mean = number_text(spread.mean, 4);
  return spread.half > 0 ? fmt::format("{} ± {}", mean, number_text(spread.half, 2)) : mean;
}

SpreadCurve spread_curve_of(const Study& study, std::size_t series, std::size_t x_axis, const std::vector<Pin>& pins,
                            std::string_view metric) {
  SpreadCurve curve;
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const Point& point = study.points[i];
    if (point.series != series || !lies_on(point, pins)) continue;
    std::vector<double> values;
    for (const Sample& sample : study.samples) {
      if (const auto y = metric_of(sample.results[i], metric)) values.push_back(*y);
    }
    if (values.empty() || values.size() < study.samples.size()) continue;
    curve.emplace_back(x_axis < point.at.size() ? point.at[x_axis] : 0, spread_of(values));
  }
  return curve;
}

std::vector<Line> lines_of(const Study& study, const Plot& plot) {
  std::vector<Line> lines;
  for (const Point& point : study.points) {
    if (std::find(plot.series.begin(), plot.series.end(), point.series) == plot.series.end()) continue;
    Line line{.series = point.series, .pins = {}, .label = study.plan->series[point.series].label};
    for (std::size_t i = 0; i < point.at.size(); ++i) {
      if (i == plot.x_axis || i == plot.y_axis) continue;
      line.pins.push_back({i, point.at[i]});
      const Axis& axis = study.plan->axes[i];
      line.label += fmt::format(", {} {}", axis.title, x_text(axis, point.at[i]));
    }
    const bool known = std::any_of(lines.begin(), lines.end(), [&](const Line& l) {
      return l.series == line.series && std::equal(l.pins.begin(), l.pins.end(), line.pins.begin(), line.pins.end(),
                                                   [](const Pin& a, const Pin& b) { return a.x == b.x; });
    });
    if (!known) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weft::lab
