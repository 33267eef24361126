#include "lab/report/figure.h"

#include <algorithm>

#include <fmt/format.h>

#include "lab/csv_cell.h"
#include "lab/report/assets.h"
#include "lab/report/heat_map.h"
#include "lab/report/html.h"
#include "lab/report/line_plot.h"

namespace weft::lab {
namespace {

struct Key {
  std::string sign;  // SVG, 26 by 14
  std::string text;
};

std::vector<Key> keys_of(const Study& study, const Plot& plot) {
  if (plot.kind == Plot::Kind::heat) return {};
  std::vector<Key> keys;
  const auto lines = lines_of(study, plot);
  const auto styles = styles_of(study, lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string sign = fmt::format("<g class=\"s{}\"><path class=\"line\" d=\"M1 7H25\"/>{}</g>", styles[i],
                                   marker(styles[i], 13, 7, ""));
    sign.replace(sign.find("class=\"pt\""), 10, "class=\"sign\"");  // it is no point of the figure
    keys.push_back({std::move(sign), lines[i].label});
  }
  if (!plot.claimed.empty()) keys.push_back({"<path class=\"claim\" d=\"M8 2l10 10m0 -10l-10 10\"/>", "claimed"});
  for (const PlotBand& band : plot.bands) {
    keys.push_back({"<rect class=\"band\" x=\"2\" y=\"1\" width=\"22\" height=\"12\"/>",
                    band.label.empty() ? "band" : band.label});
  }
  for (const PlotBand& other : plot.paper) {
    keys.push_back({"<rect class=\"paper\" x=\"2\" y=\"4\" width=\"22\" height=\"6\"/>", other.label});
  }
  return keys;
}

std::string legend(const std::vector<Key>& keys) {
  if (keys.empty()) return {};
  std::string out = "<ul class=\"legend\">";
  for (const Key& key : keys) {
    out += fmt::format("<li><svg class=\"key\" viewBox=\"0 0 26 14\" aria-hidden=\"true\">{}</svg>{}</li>", key.sign,
                       escape(key.text));
  }
  return out + "</ul>";
}

Picture picture_of(const Study& study, const Plot& plot) {
  return plot.kind == Plot::Kind::heat ? heat_map(study, plot) : line_plot(study, plot);
}

// `id` is unique on the page; `place` are attributes.
std::string svg_of(const Picture& picture, const std::string& title, const std::string& id, std::string_view place) {
  return fmt::format(
      "<svg{0} class=\"{1}\" viewBox=\"0 0 {2} {3}\" role=\"img\" aria-labelledby=\"{4}-t {4}-d\">"
      "<title id=\"{4}-t\">{5}</title><desc id=\"{4}-d\">{6}</desc>{7}</svg>",
      place, picture.kind, picture.width, picture.height, id, escape(title), escape(picture.words), picture.elements);
}

// All that the picture shows, for those who would rather read it.
std::string numbers(const Study& study, const Plot& plot) {
  const Axis& axis = study.plan->axes[plot.x_axis];
  const auto& points = study.extent == Extent::quick ? axis.quick : axis.points;
  Plot flat = plot;
  flat.y_axis.reset();
  const auto lines = lines_of(study, flat);
  std::string out = fmt::format(
      "<details class=\"numbers\"><summary>Numbers</summary><div class=\"wide\"><table><caption>{}, "
      "{}</caption><thead><tr>"
      "<th scope=\"col\">{}</th>",
      escape(plot.title), escape(plot.y_title), escape(plot.x_title));
  std::vector<SpreadCurve> curves;
  for (const Line& line : lines) {
    out += fmt::format("<th scope=\"col\">{}</th>", escape(line.label));
    curves.push_back(spread_curve_of(study, line.series, plot.x_axis, line.pins, plot.metric));
  }
  out += "</tr></thead><tbody>";
  for (const AxisPoint& point : points) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escape(point.label));
    for (const SpreadCurve& curve : curves) {
      const auto at = std::find_if(curve.begin(), curve.end(), [&](const auto& p) { return p.first == point.x; });
      out += fmt::format("<td>{}</td>", at == curve.end() ? "failed" : spread_text(at->second));
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div></details>";
}

}  // namespace

std::string figure_id(const Plan& plan, std::size_t plot) { return fmt::format("{}-{}", plan.id, plot + 1); }

std::string figure(const Study& study, const Plot& plot, const std::string& id) {
  const bool heat = plot.kind == Plot::Kind::heat;
  std::string series;
  for (const std::size_t i : plot.series) series += (series.empty() ? "" : " ") + study.plan->series[i].name;
  return fmt::format(
      "<figure id=\"{0}\" data-experiment=\"{1}\" data-metric=\"{2}\" data-series=\"{3}\" data-claimed=\"{4}\">"
      "<figcaption>{5} <span class=\"files\"><a href=\"figures/{0}.svg\">SVG</a> <a href=\"figures/{0}.csv\">CSV</a>"
      "</span></figcaption>{6}{7}{8}</figure>\n",
      id, escape(study.plan->id), plot.metric, series, heat ? 0 : plot.claimed.size(), escape(plot.title),
      legend(keys_of(study, plot)), svg_of(picture_of(study, plot), plot.title, id, {}), numbers(study, plot));
}

std::string figure_svg(const Study& study, const Plot& plot, const std::string& id) {
  constexpr double kTitle = 24, kKeyLine = 18;
  const std::vector<Key> keys = keys_of(study, plot);
  const Picture picture = picture_of(study, plot);
  const std::string place = fmt::format(" y=\"{}\" width=\"{}\" height=\"{}\"", kTitle, picture.width, picture.height);
  const double wide = picture.width + 16,
               high = kTitle + picture.height + kKeyLine * static_cast<double>(keys.size()) + 8;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"-8 0 {2} {3}\">\n"
      "<style><![CDATA[{4}svg {{ font-family: system-ui, sans-serif; background: var(--card); }}]]></style>\n"
      "<text class=\"name\" x=\"8\" y=\"16\">{5}</text>{6}\n",
      2 * wide, 2 * high, wide, high, kPageCss, escape(plot.title), svg_of(picture, plot.title, id, place));
  double y = kTitle + picture.height;
  for (const Key& key : keys) {
    out += fmt::format("<g transform=\"translate(8 {0})\">{1}<text x=\"34\" y=\"11\">{2}</text></g>\n", y, key.sign,
                       escape(key.text));
    y += kKeyLine;
  }
  return out + "</svg>\n";
}

std::string figure_csv(const Study& study, const Plot& plot) {
  Plot flat = plot;
  flat.y_axis.reset();
  std::string out = fmt::format("line,{},{},interval\n", csv_cell(plot.x_title), csv_cell(plot.y_title));
  for (const Line& line : lines_of(study, flat)) {
    for (const auto& [x, y] : spread_curve_of(study, line.series, plot.x_axis, line.pins, plot.metric)) {
      out += fmt::format("{},{},{},{}\n", csv_cell(line.label), x, y.mean, y.half);
    }
  }
  for (const PlotPoint& point : plot.claimed) {
    out += fmt::format("{},{},{},\n", csv_cell("claimed: " + point.label), point.x, point.y);
  }
  for (const PlotBand& other : plot.paper) {
    if (other.y_least) out += fmt::format("{},,{},\n", csv_cell("paper: " + other.label), *other.y_least);
    if (other.y_most != other.y_least)
      out += fmt::format("{},,{},\n", csv_cell("paper: " + other.label), *other.y_most);
  }
  return out;
}

}  // namespace weft::lab
