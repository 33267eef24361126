#include "lab/report/page.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "lab/judge.h"
#include "lab/report/assets.h"
#include "lab/report/figure.h"
#include "lab/report/html.h"
#include "lab/report/tables.h"

namespace weft::lab {
namespace {

std::string rerun(const Study& study) {
  const Plan& plan = *study.plan;
  const bool ours = plan.file.starts_with("experiments/");
  std::string command = ours ? "weft reproduce " + plan.id : "weft sim " + plan.file;
  if (study.extent == Extent::quick) command += " --quick";
  if (!study.points.empty()) {
    command += fmt::format(" --seed {} --seeds {}", study.points.front().setting.seed, study.samples.size());
  }
  return command;
}

std::string section(const Study& study, const std::vector<JudgedClaim>& claims) {
  const Plan& plan = *study.plan;
  std::string out = fmt::format("<section id=\"{0}\"><h2>{1} <a class=\"anchor\" href=\"#{0}\">{0}</a></h2>\n",
                                escape(plan.id), escape(plan.title));
  if (!plan.paper.empty()) {
    out += fmt::format("<p class=\"quiet\">{}{}{}</p>\n", escape(plan.paper), plan.figure.empty() ? "" : ": ",
                       escape(plan.figure));
  }
  if (!plan.what.empty()) out += fmt::format("<p class=\"what\">{}</p>\n", escape(plan.what));
  if (!plan.plots.empty()) {
    out += "<div class=\"figures\">\n";
    for (std::size_t i = 0; i < plan.plots.size(); ++i) {
      out += figure(study, plan.plots[i], figure_id(plan, i));
    }
    out += "</div>\n";
  }
  for (const Failure& f : failures_of(study)) {
    out += fmt::format("<p class=\"failed\">{} at {} failed, seed {}: {}</p>\n", escape(f.series), escape(f.where),
                       f.seed, escape(f.reason));
  }
  out += claims_table(claims);
  out += series_table(study);
  const std::string runs = study.points.empty() ? "nothing is simulated"
                                                : fmt::format("{} runs, {} seeds from {} on each", study.points.size(),
                                                              study.samples.size(), study.points.front().setting.seed);
  out += fmt::format("<p class=\"rerun\"><span>{}. Again:</span> <code>{}</code></p></section>\n", runs,
                     escape(rerun(study)));
  return out;
}

std::string contents(const std::vector<Study>& studies, const std::vector<std::vector<JudgedClaim>>& claims) {
  std::string out = "<nav aria-label=\"Experiments\"><ul>\n";
  for (std::size_t i = 0; i < studies.size(); ++i) {
    Tally c;
    c.add(claims[i]);
    const std::string verdicts = c.empty() ? std::string("<span class=\"quiet\">a study</span>") : std::string();
    std::string marks;
    for (const auto& [n, name] : {std::pair(c.met(), "met"), std::pair(c.missed(), "missed"),
                                  std::pair(c.calibrated, "calibrated"), std::pair(c.absent, "absent")}) {
      if (n > 0) marks += fmt::format(" <span class=\"verdict {0}\">{1} {0}</span>", name, n);
    }
    out += fmt::format("<li><a href=\"#{0}\">{1}</a> <span class=\"quiet\">{0}</span> {2}{3}</li>\n",
                       escape(studies[i].plan->id), escape(studies[i].plan->title), verdicts, marks);
  }
  return out + "</ul></nav>\n";
}

std::string profiles(const std::vector<Study>& studies) {
  std::map<std::string, const Profile*> used;
  for (const Study& study : studies) {
    for (const Series& series : study.plan->series) used.emplace(series.setting.profile.name, &series.setting.profile);
  }
  if (used.empty()) return {};
  std::string out =
      "<section id=\"profiles\"><h2>Profiles</h2><p class=\"what\">What the cards cost as hardware, set once for all "
      "experiments. A number has a source; or it was calibrated on one claim, which then does not count as met; or "
      "nobody tells it, and an experiment sweeps it; or it is assumed, for the reason beside it.</p>\n";
  for (const auto& [name, profile] : used) out += profile_section(*profile);
  return out + metrics_table() + "</section>\n";
}

}  // namespace

std::string html_page(const std::vector<Study>& studies, bool sensitivity) {
  std::vector<std::vector<JudgedClaim>> claims;
  Tally all;
  bool quick = false;
  for (const Study& study : studies) {
    claims.push_back(judge(study));
    all.add(claims.back());
    quick = quick || study.extent == Extent::quick;
  }
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">"
      "<title>Weft: what papers claim, measured</title>\n<style>{}</style></head>\n<body>\n<header><h1>What papers "
      "claim, "
      "measured</h1><p class=\"what\">Figures and tables of papers about RDMA cards, from Weft: the card that carries "
      "real "
      "applications, in a simulated world that gives every step its price.{}</p>\n",
      kPageCss, quick ? " This is the quick set: fewer points and shorter runs." : "");
  out += fmt::format(
      "<dl class=\"counts\"><div class=\"met\"><dt>met</dt><dd>{}</dd></div><div "
      "class=\"missed\"><dt>missed</dt><dd>{}</dd>"
      "</div><div class=\"calibrated\"><dt>calibrated</dt><dd>{}</dd></div><div "
      "class=\"absent\"><dt>absent</dt><dd>{}</dd></div></dl>\n",
      all.met(), all.missed(), all.calibrated, all.absent);
  out += fmt::format(
      "<p class=\"what\">Of the rows, {} met and {} missed are computed from the card's own structures and its "
      "encoder; "
      "{} met and {} missed come from runs. Calibrated ones are as claimed because a parameter was chosen so, and "
      "count "
      "for nothing. Nothing here measures the absent claims yet.</p>\n",
      all.computed_met, all.computed_missed, all.simulated_met, all.simulated_missed);
  if (sensitivity) {
    out +=
        "<p class=\"what\">Which numbers of the cards these verdicts hang on: <a href=\"sensitivity.html\">"
        "sensitivity</a>.</p>\n";
  }
  out += contents(studies, claims) + "</header>\n<main>\n";
  for (std::size_t i = 0; i < studies.size(); ++i) out += section(studies[i], claims[i]);
  out += profiles(studies);
  out += fmt::format("</main>\n<script>{}</script></body></html>\n", kPageJs);
  return out;
}

}  // namespace weft::lab
