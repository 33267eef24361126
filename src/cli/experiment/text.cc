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
        const lab::SpreadCurve curve = spread_curve_of(study, lines[i].series, plot.x_axis, lines[i].pins, plot.metric);
        const auto at = std::find_if(curve.begin(), curve.end(), [&](const auto& p) { return p.first == point.x; });
        text += fmt::format(" {:>{}}", at == curve.end() ? "failed" : fmt::format("{:.4g}", at->second.mean), kColumn);
      }
      text += '\n';
    }
  }
  for (std::size_t i = 0; lines.size() > plot.series.size() && i < lines.size(); ++i) {
    text += fmt::format("    line {}: {}\n", i + 1, lines[i].label);
  }
  return text + '\n';
}

struct RowText {
  std::string name, claimed, unit, measured, band, seeds;
  std::string_view kind, verdict;
};
std::string row_text(const RowText& r) {
  return fmt::format("  {:<44} {:>8} {:<4} {:>15}  {:<10} {:>5}  {:<9}  {}\n", shorten(r.name, 44), r.claimed, r.unit,
                     r.measured, r.band, r.seeds, r.kind, r.verdict);
}

RowText judged_text(const lab::JudgedRow& r) {
  const bool runs = r.kind == lab::RowKind::simulated && r.measured;
  return {.name = r.row->name,
          .claimed = r.row->claimed,
          .unit = r.row->unit,
          .measured = !r.measured            ? "nothing"
                      : r.measured->half > 0 ? fmt::format("{:.2f} +- {:.2f}", r.measured->mean, r.measured->half)
                                             : fmt::format("{:.2f}", r.measured->mean),
          .band = r.row->band_text,
          .seeds = runs ? fmt::format("{}/{}", r.met, r.measured->count) : "",
          .kind = kind_text(r.kind),
          .verdict = verdict_text(r.verdict)};
}

std::string claim_text(const lab::JudgedClaim& judged) {
  const lab::Claim& claim = *judged.claim;
  std::string text = fmt::format("  {}: {} ({})\n", claim.id, claim.what, claim.source);
  if (!claim.absent.empty()) return text + fmt::format("  absent: {}\n\n", claim.absent);
  if (judged.rows.empty()) return text + "  not in the quick set\n\n";
  text += row_text({.name = "",
                    .claimed = "claimed",
                    .unit = "",
                    .measured = "measured",
                    .band = "band",
                    .seeds = "seeds",
                    .kind = "kind",
                    .verdict = "verdict"});
  for (const lab::JudgedRow& r : judged.rows) {
    text += row_text(judged_text(r));
    if (!r.failure.empty()) text += fmt::format("      {}\n", r.failure);
    if (r.verdict == Verdict::missed && !r.row->why.empty()) text += fmt::format("      why: {}\n", r.row->why);
  }
  if (judged.rows.size() > 1) {
    const std::size_t missed = judged.count(Verdict::missed);
    text += row_text({.name = "all",
                      .claimed = std::to_string(judged.rows.size()),
                      .unit = "rows",
                      .measured = std::to_string(judged.rows.size() - missed),
                      .band = "every row",
                      .seeds = "",
                      .kind = "",
                      .verdict = verdict_text(judged.verdict())});
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
  lab::Tally tally;
  for (const Study& study : studies) {
    text += fmt::format("{}: {}\n", study.plan->id, study.plan->title);
    for (const Plot& plot : study.plan->plots) text += table_of(study, plot);
    for (const lab::Failure& f : failures_of(study)) {
      text += fmt::format("  failed: {} at {}, seed {}: {}\n", f.series, f.where, f.seed, f.reason);
    }
    const auto claims = judge(study);
    for (const auto& claim : claims) text += claim_text(claim);
    tally.add(claims);
  }
  if (!tally.empty()) {
    text += fmt::format(
        "{} met, {} missed, {} calibrated; {} claims absent. Computed: {} met, {} missed. Simulated: {} met, {} "
        "missed.\n",
        tally.met(), tally.missed(), tally.calibrated, tally.absent, tally.computed_met, tally.computed_missed,
        tally.simulated_met, tally.simulated_missed);
  }
  return wrap(text);
}

}  // namespace weft::cli
