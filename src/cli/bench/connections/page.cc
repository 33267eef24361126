#include <algorithm>

#include <fmt/format.h>

#include "cli/bench/connections/output.h"
#include "lab/report/figure.h"
#include "lab/report/frame.h"
#include "lab/report/html.h"

namespace weft::cli {
namespace {

using lab::escape;

// The rates of one wire and verb as the report's figures have them: a study with a series for each transport and depth.
struct Curves {
  lab::Plan plan;
  lab::Study study;

  Curves(const LoadTable& table, const std::string& wire, const std::string& verb) {
    plan.id = fmt::format("{}-{}", verb, wire);
    study.samples.resize(1);
    plan.axes.push_back({.key = "queue pairs", .title = "queue pairs", .points = {}, .quick = {}});
    for (const LoadCell& c : table.cells) {
      if (c.point.wire == wire && c.point.verb == verb) add(c);
    }
    auto& points = plan.axes.front().points;
    std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    study.plan = &plan;
  }
  Curves(const Curves&) = delete;
  Curves& operator=(const Curves&) = delete;

 private:
  void add(const LoadCell& c) {
    const double x = c.point.qps;
    auto& points = plan.axes.front().points;
    if (std::none_of(points.begin(), points.end(), [&](const auto& p) { return p.x == x; })) {
      points.push_back({.x = x, .label = std::to_string(c.point.qps), .set = {}});
    }
    const auto gbits = c.gbits();
    study.points.push_back({.series = series_of(c.point), .at = {x}, .setting = {}});
    study.samples.front().results.push_back(
        {.outcome = gbits ? lab::Outcome{{"rate", *gbits}} : lab::Outcome{}, .failure = c.failure});
  }
  std::size_t series_of(const LoadPoint& p) {
    const std::string name = fmt::format("{}-{}", p.transport, p.depth);
    const auto known =
        std::find_if(plan.series.begin(), plan.series.end(), [&](const auto& s) { return s.name == name; });
    if (known != plan.series.end()) return static_cast<std::size_t>(known - plan.series.begin());
    plan.series.push_back(
        {.name = name, .label = fmt::format("{}, depth {}", p.transport, p.depth), .setting = {}, .changes = {}});
    return plan.series.size() - 1;
  }
};

std::string wire_text(const std::string& wire) { return wire == "udp" ? "UDP" : "shared memory"; }
std::string verb_text(const std::string& verb) { return verb == "write" ? "64 KB WRITEs" : "512-byte SENDs"; }

std::string picture(const LoadTable& table, const std::string& wire, const std::string& verb) {
  const Curves curves(table, wire, verb);
  lab::Plot plot;
  plot.title = fmt::format("{} over {}", verb_text(verb), wire_text(wire));
  plot.metric = "rate";
  plot.x_title = "queue pairs";
  plot.y_title = "Gb/s";
  plot.x_scale = lab::Scale::log10;
  for (std::size_t i = 0; i < curves.plan.series.size(); ++i) plot.series.push_back(i);
  return lab::figure(curves.study, plot, curves.plan.id);
}

std::string pictures(const LoadTable& table) {
  std::string out = "<div class=\"figures\">\n";
  std::vector<std::pair<std::string, std::string>> drawn;
  for (const LoadCell& c : table.cells) {
    const std::pair one(c.point.verb, c.point.wire);
    if (std::find(drawn.begin(), drawn.end(), one) != drawn.end()) continue;
    drawn.push_back(one);
    out += picture(table, c.point.wire, c.point.verb);
  }
  return out + "</div>\n";
}

std::string verdict_table(const std::vector<LoadVerdict>& verdicts) {
  std::string out =
      "<table class=\"claims stack\"><thead><tr><th scope=\"col\">promised</th><th scope=\"col\">worst</th>"
      "<th scope=\"col\">limit</th><th scope=\"col\">points within</th><th scope=\"col\"></th></tr></thead><tbody>\n";
  for (const LoadVerdict& v : verdicts) {
    out += fmt::format(
        "<tr><th scope=\"row\">{}<p class=\"note\">worst: {}</p></th><td data-name=\"worst\">{}</td>"
        "<td data-name=\"limit\">{} {}</td><td data-name=\"points within\">{} of {}</td>"
        "<td data-name=\"verdict\"><span class=\"verdict {}\">{}</span></td></tr>\n",
        escape(v.what), escape(v.where), escape(value_text(v, v.worst)), v.at_most ? "at most" : "at least",
        escape(value_text(v, v.limit)), v.held, v.judged, v.met() ? "met" : "missed", v.met() ? "met" : "missed");
  }
  return out + "</tbody></table>\n";
}

std::string rows_table(const LoadTable& table) {
  std::string out = "<div class=\"wide\"><table class=\"series\"><thead><tr>";
  for (const char* head : {"wire", "transport", "verb", "depth", "queue pairs", "messages/s", "Gb/s", "of best",
                           "of roce", "sent again", "shares", "median", "p99", ""}) {
    out += fmt::format("<th scope=\"col\">{}</th>", head);
  }
  out += "</tr></thead><tbody>\n";
  for (const LoadCell& cell : table.cells) {
    const LoadRowTexts t = row_texts(table, cell);
    out += "<tr>";
    for (const std::string* text : {&t.wire, &t.transport, &t.verb, &t.depth, &t.qps, &t.rate, &t.gbits, &t.of_best,
                                    &t.of_roce, &t.again, &t.shares, &t.median, &t.p99, &t.remark}) {
      out += fmt::format("<td>{}</td>", escape(*text));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string load_page(const LoadTable& table) {
  const std::vector<LoadVerdict> verdicts = verdicts_of(table);
  const auto met = std::count_if(verdicts.begin(), verdicts.end(), [](const LoadVerdict& v) { return v.met(); });
  const std::string header = fmt::format(
      "<h1>Connections under load</h1><p class=\"what\">Two programs on this machine, and reliable connections between "
      "them. Every connection keeps as many requests under way as its depth says, all the time. Each point was "
      "measured for {} ms a round; medians of the rounds are shown.</p>\n"
      "<dl class=\"counts\"><div class=\"met\"><dt>met</dt><dd>{}</dd></div><div class=\"missed\"><dt>missed</dt>"
      "<dd>{}</dd></div></dl>\n",
      table.milliseconds, met, verdicts.size() - static_cast<std::size_t>(met));
  const std::string main = pictures(table) + "<section id=\"verdicts\"><h2>What is promised</h2>\n" +
                           verdict_table(verdicts) + "</section>\n<section id=\"points\"><h2>All points</h2>\n" +
                           rows_table(table) + "</section>\n";
  return lab::html_frame("Weft: connections under load", header, main);
}

}  // namespace weft::cli
