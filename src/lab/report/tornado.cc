#include "lab/report/tornado.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lab/report/frame.h"
#include "lab/report/html.h"

namespace weft::lab {
namespace {

constexpr double kTornadoWidth = 640, kNames = 300, kTornadoRight = 24, kBar = 22, kTornadoTop = 30,
                 kTornadoBottom = 10;
constexpr std::size_t kMostBars = 12;

// One number of one profile: what its least and its largest value make of the row.
struct Bar {
  std::string name, words;
  double least, most;
  bool flips = false;
};

std::string name_of(const Perturbation& p) { return fmt::format("{} {}", p.profile, p.field.info().key); }

std::vector<Bar> bars_of(const Sensitivity& s, const SensitiveRow& row) {
  std::vector<Bar> bars;
  for (const RowEffect& e : row.effects) {
    const Perturbation& p = s.perturbations[e.perturbation];
    if (!e.measured || (e.measured->mean == row.measured->mean && !row.flips(e))) continue;
    const std::string name = name_of(p);
    auto bar = std::find_if(bars.begin(), bars.end(), [&](const Bar& b) { return b.name == name; });
    if (bar == bars.end()) {
      if (bars.size() == kMostBars) continue;
      bar =
          bars.insert(bars.end(), {.name = name, .words = "", .least = row.measured->mean, .most = row.measured->mean});
    }
    bar->least = std::min(bar->least, e.measured->mean);
    bar->most = std::max(bar->most, e.measured->mean);
    bar->flips = bar->flips || row.flips(e);
    bar->words += fmt::format("{}{}: {} {}", bar->words.empty() ? "" : "; ", value_text(p.field.info(), p.value),
                              number_text(e.measured->mean, 4), verdict_text(e.verdict));
  }
  return bars;
}

std::string chart(const SensitiveRow& row, const std::vector<Bar>& bars, const std::string& id) {
  double least = row.measured->mean, most = row.measured->mean;
  for (const Bar& bar : bars) {
    least = std::min(least, bar.least);
    most = std::max(most, bar.most);
  }
  const double span = most > least ? most - least : 1;
  const auto across = [&](double v) { return kNames + (v - least) / span * (kTornadoWidth - kNames - kTornadoRight); };
  const double height = kTornadoTop + kBar * static_cast<double>(bars.size()) + kTornadoBottom;
  std::string out = fmt::format(
      "<svg class=\"plot tornado\" viewBox=\"0 0 {0} {1}\" role=\"img\" aria-labelledby=\"{2}-t {2}-d\">"
      "<title id=\"{2}-t\">{3}</title><desc id=\"{2}-d\">From {4} to {5}; usually {6}.</desc>",
      kTornadoWidth, height, id, escape(row.row->name), number_text(least, 4), number_text(most, 4),
      number_text(row.measured->mean, 4));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Bar& bar = bars[i];
    const double y = kTornadoTop + kBar * static_cast<double>(i);
    const double left = across(bar.least), right = std::max(across(bar.most), left + 2);
    out += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kNames - 8,
                       y + kBar - 7, escape(bar.name));
    out += fmt::format(
        "<rect class=\"pt {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}: "
        "{}</title></rect>",
        bar.flips ? "s1" : "s0", left, y + 3, right - left, kBar - 6, escape(bar.name), escape(bar.words));
  }
  const double usual = across(row.measured->mean);
  out += fmt::format("<path class=\"claim\" d=\"M{0:.1f} {1}V{2:.1f}\"/>", usual, kTornadoTop - 4,
                     height - kTornadoBottom);
  out += fmt::format("<text class=\"said\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{} {}</text>",
                     std::clamp(usual, kNames + 30, kTornadoWidth - kTornadoRight - 30), kTornadoTop - 12,
                     number_text(row.measured->mean, 4), escape(row.row->unit));
  return out + "</svg>";
}

std::string figure_of(const Sensitivity& s, const SensitiveRow& row, const std::string& id) {
  const std::string head =
      fmt::format("<figure id=\"{}\"><figcaption>{}: {} <span class=\"verdict {}\">{}</span></figcaption>", id,
                  escape(row.claim), escape(row.row->name), verdict_text(row.verdict), verdict_text(row.verdict));
  if (!row.measured) return head + "<p>Nothing was measured.</p></figure>\n";
  const std::vector<Bar> bars = bars_of(s, row);
  if (bars.empty()) return head + "<p>No number moves it.</p></figure>\n";
  return head + chart(row, bars, id) + "</figure>\n";
}

}  // namespace

std::string sensitivity_page(const std::vector<Sensitivity>& all) {
  std::string main;
  for (const Sensitivity& s : all) {
    main += fmt::format(
        "<section id=\"{0}\"><h2>{1} <a class=\"anchor\" href=\"#{0}\">{0}</a></h2><div class=\"figures\">\n",
        escape(s.plan->id), escape(s.plan->title));
    for (std::size_t i = 0; i < s.rows.size(); ++i) {
      main += figure_of(s, s.rows[i], fmt::format("{}-{}", escape(s.plan->id), i + 1));
    }
    main += "</div></section>\n";
  }
  return html_frame("Weft: what verdicts hang on",
                    "<h1>What verdicts hang on</h1><p class=\"what\">Every number of the cards was made smaller and "
                    "larger, one at a time. A bar shows how far that moves what is measured; an orange one flips the "
                    "verdict. The line is what is measured otherwise.</p>",
                    main);
}

}  // namespace weft::lab
