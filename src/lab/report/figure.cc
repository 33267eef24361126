#include "lab/report/figure.h"

#include <algorithm>

#include <fmt/format.h>

#include "lab/report/heat_map.h"
#include "lab/report/html.h"
#include "lab/report/line_plot.h"

namespace weft::lab {
namespace {

std::string legend(const Study& study, const Plot& plot) {
  const auto item = [](const std::string& sign, const std::string& text) {
    return fmt::format("<li><svg class=\"key\" viewBox=\"0 0 26 14\" aria-hidden=\"true\">{}</svg>{}</li>", sign,
                       escape(text));
  };
  std::string out = "<ul class=\"legend\">";
  const auto lines = lines_of(study, plot);
  const auto styles = styles_of(study, lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string sign = fmt::format("<g class=\"s{}\"><path class=\"line\" d=\"M1 7H25\"/>{}</g>", styles[i],
                                         marker(styles[i], 13, 7, ""));
    // The key's sign is no point of the figure.
    std::string plain = sign;
    plain.replace(plain.find("class=\"pt\""), 10, "class=\"sign\"");
    out += item(plain, lines[i].label);
  }
  if (!plot.claimed.empty()) out += item("<path class=\"claim\" d=\"M8 2l10 10m0 -10l-10 10\"/>", "claimed");
  for (const PlotBand& band : plot.bands) {
    out += item("<rect class=\"band\" x=\"2\" y=\"1\" width=\"22\" height=\"12\"/>",
                band.label.empty() ? "band" : band.label);
  }
  return out + "</ul>";
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

std::string figure(const Study& study, const Plot& plot, const std::string& id) {
  const bool heat = plot.kind == Plot::Kind::heat;
  std::string series;
  for (const std::size_t i : plot.series) series += (series.empty() ? "" : " ") + study.plan->series[i].name;
  return fmt::format(
      "<figure id=\"{}\" data-experiment=\"{}\" data-metric=\"{}\" data-series=\"{}\" data-claimed=\"{}\">"
      "<figcaption>{}</figcaption>{}{}{}</figure>\n",
      id, escape(study.plan->id), plot.metric, series, heat ? 0 : plot.claimed.size(), escape(plot.title),
      heat ? "" : legend(study, plot), heat ? heat_map(study, plot, id) : line_plot(study, plot, id),
      numbers(study, plot));
}

}  // namespace weft::lab
