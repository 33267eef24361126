#include "cli/experiment/experiment.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/experiment/files.h"
#include "cli/experiment/output.h"
#include "cli/experiment/progress.h"
#include "cli/numbers.h"
#include "lab/judge.h"
#include "lab/report/figure.h"
#include "lab/report/page.h"
#include "lab/sweep.h"

namespace weft::cli {
namespace {

using lab::Study;
using lab::Verdict;

bool write_figures(const std::vector<Study>& studies, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const Study& study : studies) {
    const std::vector<lab::Plot>& plots = study.plan->plots;
    for (std::size_t i = 0; i < plots.size(); ++i) {
      const std::string id = lab::figure_id(*study.plan, i);
      if (!write_file(folder / (id + ".svg"), lab::figure_svg(study, plots[i], id)) ||
          !write_file(folder / (id + ".csv"), lab::figure_csv(study, plots[i]))) {
        return false;
      }
    }
  }
  return true;
}

bool write_report(const std::vector<Study>& studies, const ExperimentOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.report, error);
  const std::filesystem::path path = std::filesystem::path(options.report) / "index.html";
  const bool sensitivity = std::filesystem::exists(path.parent_path() / "sensitivity.html", error);
  if (!write_file(path, lab::html_page(studies, sensitivity))) return false;
  if (!write_figures(studies, std::filesystem::path(options.report) / "figures")) return false;
  fmt::print(stderr, "report: {}\n", path.string());
  return true;
}

bool say(const std::vector<Study>& studies, const ExperimentOptions& options) {
  if (options.csv != "-") fmt::print("{}", options.json ? verdicts_json(studies) : tables_text(studies));
  if (options.csv == "-") fmt::print("{}", points_csv(studies));
  bool written = true;
  if (!options.csv.empty() && options.csv != "-") written = write_file(options.csv, points_csv(studies));
  if (!options.report.empty()) written = write_report(studies, options) && written;
  return written;
}

bool all_is_well(const std::vector<Study>& studies) {
  for (const Study& study : studies) {
    if (!failures_of(study).empty()) return false;
    for (const auto& claim : lab::judge(study)) {
      if (claim.count(Verdict::missed) != 0) return false;
    }
  }
  return true;
}

}  // namespace

int run_experiments(const std::vector<lab::Plan>& plans, const ExperimentOptions& options) {
  const auto common = common_options(options);
  if (!common) return usage_error(common.error());
  say_unused(options.profiles, plans);
  const auto extent = options.quick ? lab::Extent::quick : lab::Extent::full;
  std::vector<Study> studies;
  for (const lab::Plan& plan : plans) {
    const std::size_t seeds = common->seeds.value_or(usual_seeds(plan, options.quick));
    Study study{.plan = &plan, .extent = extent, .points = points_of(plan, extent, common->seed), .samples = {}};
    for (std::size_t i = 0; i < seeds; ++i) study.samples.push_back({.number = i, .results = {}});
    studies.push_back(std::move(study));
  }
  {
    const ProgressLine line;
    lab::SweepOptions sweep;
    sweep.jobs = common->jobs;
    sweep.on_progress = [&line](const lab::Progress& p) { line.show(p); };
    run_studies(studies, sweep);
  }
  const bool written = say(studies, options);
  return written && all_is_well(studies) ? kOk : kFailed;
}

}  // namespace weft::cli
