#include "lab/report/line_plot.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lab/report/html.h"
#include "lab/report/label_places.h"
#include "lab/report/ruler.h"

namespace weft::lab {
namespace {

// In units of the picture, which the page scales.
constexpr double kWidth = 480, kHeight = 320;
constexpr double kLeft = 62, kRight = 16, kTop = 14, kBottom = 52;
constexpr double kWords = 160;  // right of the bars, for what is claimed

struct Range {
  double least, most;
  void include(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

class LinePlot {
 public:
  LinePlot(const Study& study, const Plot& plot)
      : study_(study),
        plot_(plot),
        lines_(lines_of(study, plot)),
        styles_(styles_of(study, lines_)),
        bars_(points_of_axis().size() == 1),
        x_(x_ruler()),
        y_(y_ruler()) {}

  Picture draw() {
    draw_bands();
    draw_axes();
    for (std::size_t i = lines_.size(); i > 0; --i) bars_ ? draw_bar(i - 1) : draw_line(i - 1);  // the first is on top
    draw_claimed();
    return {.kind = "plot", .width = kWidth, .height = kHeight, .words = describe(), .elements = std::move(out_)};
  }

 private:
  [[nodiscard]] double across(double x) const { return kLeft + x_.place(x) * (kWidth - kLeft - kRight); }
  [[nodiscard]] double down(double y) const { return kHeight - kBottom - y_.place(y) * (kHeight - kTop - kBottom); }
  [[nodiscard]] static double clamp_x(double x) { return std::clamp(x, kLeft, kWidth - kRight); }
  [[nodiscard]] static double clamp_y(double y) { return std::clamp(y, kTop, kHeight - kBottom); }

  [[nodiscard]] SpreadCurve curve(std::size_t line) const {
    return spread_curve_of(study_, lines_[line].series, plot_.x_axis, lines_[line].pins, plot_.metric);
  }

  [[nodiscard]] const std::vector<AxisPoint>& points_of_axis() const {
    const Axis& axis = study_.plan->axes[plot_.x_axis];
    return study_.extent == Extent::quick ? axis.quick : axis.points;
  }
  [[nodiscard]] Ruler x_ruler() const {
    const Axis& axis = study_.plan->axes[plot_.x_axis];
    const auto& points = points_of_axis();
    if (bars_) return {Scale::steps, points.front().x, points.front().x, points, axis.kind};
    Range range{points.front().x, points.front().x};
    for (const AxisPoint& p : points) range.include(p.x);
    for (const PlotPoint& p : plot_.claimed) range.include(p.x);
    if (plot_.x_scale == Scale::linear && range.least > 0 && range.least < range.most / 4) range.least = 0;
    return {plot_.x_scale, range.least, range.most, points, axis.kind};
  }
  [[nodiscard]] Ruler y_ruler() const {
    Range range{bars_ ? 0 : plot_.y_least.value_or(0), 0};  // what is cut off of a bar makes it lie
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      for (const auto& [x, y] : curve(i)) range.include(y.mean + y.half);
    }
    for (const PlotPoint& p : plot_.claimed) range.include(p.y);
    for (const PlotBand& b : plot_.bands) range.include(b.y_most.value_or(0));
    for (const PlotBand& b : plot_.paper) range.include(b.y_most.value_or(0));
    const bool linear = plot_.y_scale == Scale::linear || bars_;
    double least = range.least;
    for (std::size_t i = 0; !linear && i < lines_.size(); ++i) {
      for (const auto& [x, y] : curve(i)) {
        if (y.mean > 0 && (least <= 0 || y.mean < least)) least = y.mean;
      }
    }
    // What is measured is in the picture, whatever the plan thought it would be.
    const double most = std::max(plot_.y_most.value_or(0), range.most);
    return {linear ? Scale::linear : plot_.y_scale, least, most > plot_.y_most.value_or(0) ? round_up(most) : most};
  }

  [[nodiscard]] std::string describe() const {
    std::string text = fmt::format("{} by {}.", plot_.y_title, plot_.x_title);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const SpreadCurve c = curve(i);
      if (c.empty()) continue;
      text += fmt::format(" {}: {} at {}, {} at {}.", lines_[i].label, spread_text(c.front().second),
                          number_text(c.front().first), spread_text(c.back().second), number_text(c.back().first));
    }
    for (const PlotPoint& p : plot_.claimed) {
      text += fmt::format(" Claimed: {} at {}.", number_text(p.y), number_text(p.x));
    }
    for (const PlotBand& b : plot_.paper) text += fmt::format(" In the paper: {}.", b.label);
    return text;
  }

  void draw_bands() {
    for (const PlotBand& band : plot_.bands) draw_band("band", band);
    for (const PlotBand& other : plot_.paper) draw_band("paper", other);
  }

  void draw_band(std::string_view kind, const PlotBand& band) {
    const double left = band.x_least && !bars_ ? clamp_x(across(*band.x_least)) : kLeft;
    const double right = band.x_most && !bars_ ? clamp_x(across(*band.x_most)) : kWidth - kRight;
    const double top = band.y_most ? clamp_y(down(*band.y_most)) : kTop;
    const double bottom = band.y_least ? clamp_y(down(*band.y_least)) : kHeight - kBottom;
    out_ += fmt::format(
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{}: {}</title></rect>",
        kind, left, top, std::max(right - left, 2.0), std::max(bottom - top, 2.0), kind, escape(band.label));
  }

  void draw_axes() {
    const double bottom = kHeight - kBottom, right = kWidth - kRight;
    for (const Tick& tick : y_.ticks()) {
      const double y = down(tick.value);
      out_ += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y, right);
      out_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 7,
                          y + 4, tick.label);
    }
    for (const Tick& tick : x_.ticks()) {
      const double x = across(tick.value);
      out_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v5\"/>", x, bottom);
      out_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x,
                          bottom + 21, escape(tick.label));
    }
    out_ += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>", kLeft, kTop, bottom, right);
    out_ += fmt::format("<text class=\"name\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                        (kLeft + right) / 2, kHeight - 8, escape(plot_.x_title));
    out_ += fmt::format(
        "<text class=\"name\" transform=\"translate(13 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        (kTop + bottom) / 2, escape(plot_.y_title));
  }

  void draw_line(std::size_t line) {
    const SpreadCurve points = curve(line);
    std::string path;
    for (const auto& [x, y] : points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", across(x), down(y.mean));
    }
    out_ += fmt::format("<g class=\"s{}\">", styles_[line]);
    if (points.size() > 1) out_ += fmt::format("<path class=\"line\" d=\"{}\"/>", path);
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      labels_.take_segment(across(points[i].first), down(points[i].second.mean), across(points[i + 1].first),
                           down(points[i + 1].second.mean));
    }
    for (const auto& [x, y] : points) {
      labels_.take_point(across(x), down(y.mean), 6);
      if (y.half > 0) draw_interval(across(x), y);
      const auto words = fmt::format("{}: {} at {}", lines_[line].label, spread_text(y), number_text(x));
      out_ += marker(styles_[line], across(x), down(y.mean), words);
    }
    out_ += "</g>";
  }

  // 95 % of the mean over seeds.
  void draw_interval(double x, const Spread& y) {
    const double top = clamp_y(down(y.mean + y.half)), bottom = clamp_y(down(y.mean - y.half));
    out_ += fmt::format("<path class=\"error\" d=\"M{0:.1f} {1:.1f}h6m-3 0V{2:.1f}m-3 0h6\"/>", x - 3, top, bottom);
  }

  // Where x has one value: a bar for each line, from the left to the right.
  void draw_bar(std::size_t line) {
    const double right = plot_.claimed.empty() ? kWidth - kRight : kWidth - kWords;
    const double each = (right - kLeft) / static_cast<double>(lines_.size());
    const double left = kLeft + each * (static_cast<double>(line) + 0.2), wide = each * 0.6;
    out_ += fmt::format("<g class=\"s{}\">", styles_[line]);
    for (const auto& [x, y] : curve(line)) {
      const double top = std::min(down(y.mean), kHeight - kBottom - 2);
      out_ += fmt::format(
          "<rect class=\"pt bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: {}</title>"
          "</rect>",
          left, top, wide, kHeight - kBottom - top, escape(lines_[line].label), spread_text(y));
      if (y.half > 0) draw_interval(left + wide / 2, y);
      draw_words("tick", {left + wide / 2, clamp_y(down(y.mean + y.half)) - 7, "middle"},
                 fmt::format("{:.4g}", y.mean));
    }
    out_ += "</g>";
  }

  void draw_words(std::string_view kind, const LabelPlace& place, std::string_view words) {
    out_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", kind, place.x,
                        place.y, place.anchor, escape(words));
  }

  void draw_claimed() {
    for (const PlotPoint& point : plot_.claimed) {
      const double x = claimed_at(point), far = point.y * point.within / 100;
      labels_.take_point(x, down(point.y), 7);
      if (!bars_) labels_.take_segment(x, clamp_y(down(point.y + far)), x, clamp_y(down(point.y - far)));
    }
    for (const PlotPoint& point : plot_.claimed) {
      const double x = claimed_at(point), y = down(point.y);
      if (point.within > 0 && !bars_) {
        const double top = clamp_y(down(point.y * (1 + point.within / 100)));
        const double bottom = clamp_y(down(point.y * (1 - point.within / 100)));
        out_ +=
            fmt::format("<path class=\"reach\" d=\"M{0:.1f} {1:.1f}h10m-5 0V{2:.1f}m-5 0h10\"/>", x - 5, top, bottom);
      }
      const std::string sign = bars_ ? fmt::format("M{:.1f} {:.1f}H{:.1f}", kLeft, y, kWidth - kRight)
                                     : fmt::format("M{:.1f} {:.1f}m-6 -6l12 12m0 -12l-12 12", x, y);
      out_ += fmt::format("<path class=\"claim{}\" d=\"{}\"><title>claimed: {}</title></path>", bars_ ? " bars" : "",
                          sign, escape(point.label));
      const LabelPlace beside = bars_ ? LabelPlace{x, y - 5, "end"} : labels_.place(point.label, x, y);
      draw_words("said", beside, point.label);
    }
  }
  // Among bars a claim is a line across all of them, with its words at the right.
  [[nodiscard]] double claimed_at(const PlotPoint& point) const {
    return bars_ ? kWidth - kRight - 8 : across(point.x);
  }

  const Study& study_;
  const Plot& plot_;
  std::vector<Line> lines_;
  std::vector<std::size_t> styles_;
  bool bars_;
  Ruler x_, y_;
  LabelPlaces labels_{Box{kLeft + 2, kTop - 12, kWidth - kRight + 10, kHeight - kBottom - 2}};
  std::string out_;
};

}  // namespace

Picture line_plot(const Study& study, const Plot& plot) { return LinePlot(study, plot).draw(); }

std::vector<std::size_t> styles_of(const Study& study, const std::vector<Line>& lines) {
  constexpr std::array<std::string_view, 5> kCards{"srnic", "connectx6", "irn", "connectx5", "star-fpga"};
  std::vector<std::size_t> by_card;
  for (const Line& line : lines) {
    const std::string& card = study.plan->series[line.series].setting.profile.name;
    const auto* known = std::find(kCards.begin(), kCards.end(), card);
    by_card.push_back(static_cast<std::size_t>(known - kCards.begin()));
  }
  std::vector<std::size_t> sorted = by_card, by_number;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return by_card;
  for (std::size_t i = 0; i < lines.size(); ++i) by_number.push_back(i % kLineStyles);
  return by_number;
}

std::string marker(std::size_t style, double x, double y, std::string_view title) {
  constexpr std::array<std::string_view, kLineStyles> kSigns{
      "m-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z",  // circle
      "m-3.8 -3.8h7.6v7.6h-7.6z",                           // square
      "m0 -5.4l4.9 9h-9.8z",                                // triangle
      "m0 -5.4l5.4 5.4l-5.4 5.4l-5.4 -5.4z",                // diamond
      "m0 5.4l4.9 -9h-9.8z",                                // triangle on its tip
      "m-4.8 -2l9.6 0v4h-9.6z",                             // bar
  };
  return fmt::format("<path class=\"pt\" d=\"M{:.1f} {:.1f}{}\">{}</path>", x, y, kSigns[style % kLineStyles],
                     title.empty() ? "" : fmt::format("<title>{}</title>", escape(title)));
}

}  // namespace weft::lab
