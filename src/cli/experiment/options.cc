#include "cli/experiment/options.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "cli/numbers.h"
#include "lab/field.h"

namespace weft::cli {

void add_experiment_options(CLI::App& app, ExperimentOptions& options) {
  app.add_flag("--quick", options.quick, "Fewer points and shorter runs, as the plan says");
  app.add_flag("--json", options.json, "Print the verdicts as JSON");
  app.add_option("--csv", options.csv, "Write every measured number to this file ('-': standard output)")
      ->type_name("FILE");
  app.add_option("--report", options.report,
                 "Write a page with the figures to index.html in this folder, and each as SVG and CSV")
      ->type_name("DIR");
  app.add_option("--seed", options.seed, "Run from this seed on instead of the plan's")->type_name("NUMBER");
  app.add_option("--seeds", options.seeds,
                 "Run each point with so many seeds: 10 where there are claims (3 with --quick), else 1")
      ->type_name("NUMBER");
  app.add_option("--jobs", options.jobs, "Runs at once; as many as there are processors unless said otherwise")
      ->type_name("NUMBER");
  app.add_option("--profiles", options.profiles, "A profile of yours, or a folder of them; may be given again")
      ->type_name("PATH");
}

tl::expected<CommonOptions, std::string> common_options(const ExperimentOptions& options) {
  constexpr unsigned kMostJobs = 1024, kMostSeeds = 1000;
  const auto seed = parse_whole(options.seed);
  if (!options.seed.empty() && !seed) {
    return tl::unexpected(fmt::format("--seed: '{}' is not a whole number", options.seed));
  }
  const auto jobs = parse_whole(options.jobs.empty() ? "0" : options.jobs);
  if (!jobs || *jobs > kMostJobs || (*jobs == 0 && !options.jobs.empty())) {
    return tl::unexpected(fmt::format("--jobs: '{}' is no number from 1 to {}", options.jobs, kMostJobs));
  }
  const auto seeds = parse_whole(options.seeds);
  if (!options.seeds.empty() && (!seeds || *seeds == 0 || *seeds > kMostSeeds)) {
    return tl::unexpected(fmt::format("--seeds: '{}' is no number from 1 to {}", options.seeds, kMostSeeds));
  }
  return CommonOptions{seed, seeds, static_cast<unsigned>(*jobs)};
}

std::size_t usual_seeds(const lab::Plan& plan, bool quick) {
  constexpr std::size_t kSeeds = 10, kQuickSeeds = 3;
  return plan.claims.empty() ? 1 : quick ? kQuickSeeds : kSeeds;
}

tl::expected<lab::ProfileShelf, std::string> shelf_of(const std::vector<std::string>& paths) {
  lab::ProfileShelf shelf;
  for (const std::string& path : paths) {
    const auto added = shelf.add(path);
    if (!added) return tl::unexpected(added.error());
  }
  return shelf;
}

void say_unused(const std::vector<std::string>& paths, const std::vector<lab::Plan>& plans) {
  std::set<std::string> used;
  for (const lab::Plan& plan : plans) {
    for (const lab::Series& series : plan.series) {
      used.insert(series.setting.profile.name);
      for (const lab::Parameter& p : series.setting.profile.parameters) used.insert(p.from);
    }
  }
  const std::vector<std::string_view> words(used.begin(), used.end());
  for (const std::string& path : paths) {
    std::error_code error;
    std::vector<std::string> names{std::filesystem::path(path).stem().string()};
    if (std::filesystem::is_directory(path, error)) {
      names.clear();
      for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
        names.push_back(entry.path().stem().string());
      }
    }
    if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return used.contains(n); })) continue;
    fmt::print(stderr, "--profiles {}: nothing here is replaced by it; used are {}\n", path, lab::in_a_row(words));
  }
}

}  // namespace weft::cli
