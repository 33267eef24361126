// Results as tables of text.
#include <algorithm>

#include <fmt/format.h>

#include "cli/experiment/output.h"
#include "lab/judge.h"

namespace weft::cli {
namespace {

using lab::Plot;
using lab::Study;
using lab::Verdict;

constexpr std::size_t kColumn = 14;
constexpr std::size_t kWidth = 120;

std::string shorten(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "~";
}

// A figure as a table: x downwards, a column for each line, as many as fit side by side.
std::string table_of(const Study& study, const Plot& plot) {
  const lab::Axis& axis = study.plan->axes[plot.x_axis];
  const auto& points = study.extent == lab::Extent::quick ? axis.quick : axis.points;
  std::string text = fmt::format("  {}: {} by {}\n", plot.title, plot.y_title, plot.x_title);
  Plot flat = plot;
  flat.y_axis.reset();  // a line for each of its values, in a table
  const std::vector<lab::Line> lines = lab::lines_of(study, flat);
  const std::size_t fit = (kWidth - 2 - kColumn) / (kColumn + 1);
  for (std::size_t from = 0; from < lines.size(); from += fit) {
    const std::size_t to = std::min(lines.size(), from + fit);
    text += fmt::format("  {:>{}}", shorten(axis.key, kColumn), kColumn);
    for (std::size_t i = from; i < to; ++i) {
      text += fmt::format(
          " {:>{}}",
          lines.size() > plot.series.size() ? fmt::format("line {}", i + 1) : shorten(lines[i].label, kColumn),
          kColumn);
    }
    text += '\n';
    for (const auto& point : points) {
      text += fmt::format("  {:>{}}", shorten(point.label, kColumn), kColumn);
      for (std::size_t i = from; i < to; ++i) {
        const lab::Curve curve = curve_of(study, lines[i].series, plot.x_axis, lines[i].pins, plot.metric);
        const auto at = std::find_if(curve.begin(), curve.end(), [&](const auto& p) { return p.first == point.x; });
        text += fmt::format(" {:>{}}", at == curve.end() ? "failed" : fmt::format("{:.4g}", at->second), kColumn);
      }
      text += '\n';
    }
  }
  for (std::size_t i = 0; lines.size() > plot.series.size() && i < lines.size(); ++i) {
    text += fmt::format("    line {}: {}\n", i + 1, lines[i].label);
  }
  return text + '\n';
}

std::string row_text(const std::string& name, const std::string& claimed, const std::string& unit,
                     const std::string& measured, const std::string& band, std::string_view verdict) {
  return fmt::format("  {:<44} {:>8} {:<5} {:>9}  {:<10}  {}\n", shorten(name, 44), claimed, unit, measured, band,
                     verdict);
}

std::string claim_text(const lab::JudgedClaim& judged) {
  const lab::Claim& claim = *judged.claim;
  std::string text = fmt::format("  {}: {} ({})\n", claim.id, claim.what, claim.source);
  if (judged.rows.empty()) return text + "  not in the quick set\n\n";
  text += row_text("", "claimed", "", "measured", "band", "verdict");
  for (const lab::JudgedRow& r : judged.rows) {
    text +=
        row_text(r.row->name, r.row->claimed, r.row->unit, r.measured ? fmt::format("{:.2f}", *r.measured) : "nothing",
                 r.row->band_text, verdict_text(r.verdict));
    if (!r.failure.empty()) text += fmt::format("      {}\n", r.failure);
    if (r.verdict == Verdict::missed && !r.row->why.empty()) text += fmt::format("      why: {}\n", r.row->why);
  }
  if (judged.rows.size() > 1) {
    const std::size_t missed = judged.count(Verdict::missed);
    text += row_text("all", std::to_string(judged.rows.size()), "rows", std::to_string(judged.rows.size() - missed),
                     "every row", missed == 0 ? "met" : "missed");
  }
  return text + '\n';
}

// Text of any length, broken at spaces so that lines stay within the width.
std::string wrap(const std::string& text) {
  std::string out;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    while (line.size() > kWidth) {
      const std::size_t space = line.rfind(' ', kWidth);
      if (space == std::string::npos || space <= indent) break;
      out += line.substr(0, space) + '\n';
      line = std::string(indent + 2, ' ') + line.substr(space + 1);
    }
    out += line + '\n';
    start = end + 1;
  }
  return out;
}

}  // namespace

std::string tables_text(const std::vector<Study>& studies) {
  std::string text;
  std::size_t met = 0, missed = 0, calibrated = 0;
  for (const Study& study : studies) {
    text += fmt::format("{}: {}\n", study.plan->id, study.plan->title);
    for (const Plot& plot : study.plan->plots) text += table_of(study, plot);
    for (std::size_t i = 0; i < study.points.size(); ++i) {
      if (study.results[i].failure.empty()) continue;
      text += fmt::format("  failed: {} at {}: {}\n", study.plan->series[study.points[i].series].name,
                          where_text(*study.plan, study.points[i]), study.results[i].failure);
    }
    for (const auto& claim : judge(study)) {
      text += claim_text(claim);
      met += claim.count(Verdict::met);
      missed += claim.count(Verdict::missed);
      calibrated += claim.count(Verdict::calibrated);
    }
  }
  if (met + missed + calibrated > 0) text += fmt::format("{} met, {} missed, {} calibrated\n", met, missed, calibrated);
  return wrap(text);
}

}  // namespace weft::cli
