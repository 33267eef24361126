#include "cli/experiment/experiment.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/experiment/output.h"
#include "cli/numbers.h"
#include "lab/judge.h"
#include "lab/report/page.h"
#include "lab/sweep.h"

namespace weft::cli {
namespace {

using lab::Study;
using lab::Verdict;

constexpr unsigned kMostJobs = 1024;

// One line on a terminal that is written over; nothing at all elsewhere.
class ProgressLine {
 public:
  ProgressLine() : shown_(isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const lab::Progress& p) const {
    if (!shown_) return;
    const auto left = static_cast<long>(p.seconds_left + 0.5);
    fmt::print(stderr, "\r\033[K{} of {} runs{}", p.done, p.total,
               p.seconds_left < 0 ? "" : fmt::format(", {}:{:02} left", left / 60, left % 60));
    std::fflush(stderr);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool shown_;
};

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return true;
  fmt::print(stderr, "weft: cannot write {}\n", path.string());
  return false;
}

bool write_report(const std::vector<Study>& studies, const ExperimentOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(options.report, error);
  const std::filesystem::path path = std::filesystem::path(options.report) / "index.html";
  if (!write_file(path, lab::html_page(studies))) return false;
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
    for (const auto& result : study.results) {
      if (!result.failure.empty()) return false;
    }
    for (const auto& claim : lab::judge(study)) {
      if (claim.count(Verdict::missed) != 0) return false;
    }
  }
  return true;
}

}  // namespace

int run_experiments(const std::vector<lab::Plan>& plans, const ExperimentOptions& options) {
  const auto seed = parse_whole(options.seed);
  if (!options.seed.empty() && !seed)
    return usage_error(fmt::format("--seed: '{}' is not a whole number", options.seed));
  const auto jobs = parse_whole(options.jobs.empty() ? "0" : options.jobs);
  if (!jobs || *jobs > kMostJobs || (*jobs == 0 && !options.jobs.empty())) {
    return usage_error(fmt::format("--jobs: '{}' is no number from 1 to {}", options.jobs, kMostJobs));
  }
  const auto extent = options.quick ? lab::Extent::quick : lab::Extent::full;
  std::vector<Study> studies;
  for (const lab::Plan& plan : plans) {
    studies.push_back({.plan = &plan, .extent = extent, .points = points_of(plan, extent, seed), .results = {}});
  }
  {
    const ProgressLine line;
    lab::SweepOptions sweep;
    sweep.jobs = static_cast<unsigned>(*jobs);
    sweep.on_progress = [&line](const lab::Progress& p) { line.show(p); };
    run_studies(studies, sweep);
  }
  const bool written = say(studies, options);
  return written && all_is_well(studies) ? kOk : kFailed;
}

}  // namespace weft::cli
