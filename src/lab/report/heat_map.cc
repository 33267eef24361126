#include "lab/report/heat_map.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "lab/report/html.h"

namespace weft::lab {
namespace {

constexpr double kMapWidth = 480, kMapRow = 34, kMapTop = 6, kMapBottom = 46;

struct Row {
  std::string label;
  Curve cells;
};

// A cell has the mean over all seeds.
Curve mean_curve(const Study& study, const Line& line, const std::vector<Pin>& pins, const Plot& plot) {
  Curve means;
  for (const auto& [x, y] : spread_curve_of(study, line.series, plot.x_axis, pins, plot.metric)) {
    means.emplace_back(x, y.mean);
  }
  return means;
}

// From top to bottom.
std::vector<Row> rows_of(const Study& study, const Plot& plot) {
  std::vector<Row> rows;
  for (const Line& line : lines_of(study, plot)) {
    if (!plot.y_axis) {
      rows.push_back({line.label, mean_curve(study, line, line.pins, plot)});
      continue;
    }
    const Axis& axis = study.plan->axes[*plot.y_axis];
    const auto& points = study.extent == Extent::quick ? axis.quick : axis.points;
    for (auto point = points.rbegin(); point != points.rend(); ++point) {
      std::vector<Pin> pins = line.pins;
      pins.push_back({*plot.y_axis, point->x});
      rows.push_back({point->label, mean_curve(study, line, pins, plot)});
    }
  }
  return rows;
}

// Labels of series are long, those of values are not.
double left_margin(const Plot& plot) { return plot.y_axis ? 84 : 4; }

class HeatMap {
 public:
  HeatMap(const Study& study, const Plot& plot)
      : plot_(plot), axis_(study.plan->axes[plot.x_axis]), rows_(rows_of(study, plot)), left_(left_margin(plot)) {
    columns_ = study.extent == Extent::quick ? axis_.quick : axis_.points;
    for (const Row& row : rows_) {
      for (const auto& [x, y] : row.cells) {
        least_ = std::min(least_, y);
        most_ = std::max(most_, y);
      }
    }
    if (plot_.y_axis) y_name_ = study.plan->axes[*plot_.y_axis].title;
    row_ = plot_.y_axis ? kMapRow : kMapRow + 20;  // a label above each
  }

  Picture draw() {
    const double height = kMapTop + row_ * static_cast<double>(rows_.size()) + kMapBottom;
    std::string out;
    for (std::size_t i = 0; i < rows_.size(); ++i) draw_row(i, out);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                         left_ + (static_cast<double>(i) + 0.5) * column(), height - kMapBottom + 17,
                         escape(columns_[i].label));
    }
    out += fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                       (left_ + kMapWidth) / 2, height - 8, escape(plot_.x_title));
    if (plot_.y_axis) {
      out += fmt::format(
          "<text class=\"name\" transform=\"translate(13 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
          (kMapTop + height - kMapBottom) / 2, escape(y_name_));
    }
    return {.kind = "plot heat", .width = kMapWidth, .height = height, .words = describe(), .elements = std::move(out)};
  }

 private:
  [[nodiscard]] double column() const { return (kMapWidth - left_ - 4) / static_cast<double>(columns_.size()); }

  [[nodiscard]] std::string describe() const {
    std::string text = fmt::format("{} by {}.", plot_.y_title, plot_.x_title);
    for (const Row& row : rows_) {
      if (row.cells.empty()) continue;
      const auto most = std::max_element(row.cells.begin(), row.cells.end(), less);
      text += fmt::format(" {}: most {} at {}.", row.label, number_text(most->second, 4), number_text(most->first));
    }
    return text;
  }
  static bool less(const Curve::value_type& a, const Curve::value_type& b) { return a.second < b.second; }

  // Latency is best where it is least.
  [[nodiscard]] double best_of(const Row& row) const {
    const bool small = plot_.metric.starts_with("latency") || plot_.metric.ends_with("misses");
    const auto best = small ? std::min_element(row.cells.begin(), row.cells.end(), less)
                            : std::max_element(row.cells.begin(), row.cells.end(), less);
    return best == row.cells.end() ? 0 : best->second;
  }

  void draw_row(std::size_t index, std::string& out) const {
    const Row& row = rows_[index];
    const double top = kMapTop + row_ * static_cast<double>(index);
    const double cell_top = plot_.y_axis ? top + 1 : top + 19;
    const double cell_height = kMapRow - 2;
    if (plot_.y_axis) {
      out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left_ - 7,
                         top + kMapRow / 2 + 4, escape(row.label));
    } else {
      out += fmt::format("<text class=\"row\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", left_ + 2, top + 13,
                         escape(row.label));
    }
    const double best = best_of(row);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto cell =
          std::find_if(row.cells.begin(), row.cells.end(), [&](const auto& c) { return c.first == columns_[i].x; });
      if (cell == row.cells.end()) continue;
      const double x = left_ + static_cast<double>(i) * column();
      const double shade = most_ > least_ ? (cell->second - least_) / (most_ - least_) : 1;
      const bool framed = most_ > least_ && std::abs(cell->second - best) <= std::abs(best) * 0.005;
      out += fmt::format(
          "<rect class=\"pt cell\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\" "
          "fill-opacity=\"{:.2f}\"><title>{}: {} at {}</title></rect>",
          x + 1, cell_top, column() - 2, cell_height, 0.06 + 0.64 * shade, escape(row.label),
          number_text(cell->second, 4), escape(columns_[i].label));
      if (framed) {
        out +=
            fmt::format("<rect class=\"best\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"2\"/>",
                        x + 2, cell_top + 1, column() - 4, cell_height - 2);
      }
      out += fmt::format("<text class=\"cell\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                         x + column() / 2, cell_top + cell_height / 2 + 4, number_text(cell->second, 3));
    }
  }

  const Plot& plot_;
  const Axis& axis_;
  std::vector<Row> rows_;
  std::vector<AxisPoint> columns_;
  std::string y_name_;
  double left_, row_ = kMapRow;
  double least_ = std::numeric_limits<double>::max(), most_ = std::numeric_limits<double>::lowest();
};

}  // namespace

Picture heat_map(const Study& study, const Plot& plot) { return HeatMap(study, plot).draw(); }

}  // namespace weft::lab
