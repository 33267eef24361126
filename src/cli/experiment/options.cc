#include "cli/experiment/options.h"

#include <fmt/format.h>

#include "cli/numbers.h"

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
  constexpr unsigned kMostJobs = 1024;
  const auto seed = parse_whole(options.seed);
  if (!options.seed.empty() && !seed) {
    return tl::unexpected(fmt::format("--seed: '{}' is not a whole number", options.seed));
  }
  const auto jobs = parse_whole(options.jobs.empty() ? "0" : options.jobs);
  if (!jobs || *jobs > kMostJobs || (*jobs == 0 && !options.jobs.empty())) {
    return tl::unexpected(fmt::format("--jobs: '{}' is no number from 1 to {}", options.jobs, kMostJobs));
  }
  return CommonOptions{seed, static_cast<unsigned>(*jobs)};
}

tl::expected<lab::ProfileShelf, std::string> shelf_of(const std::vector<std::string>& paths) {
  lab::ProfileShelf shelf;
  for (const std::string& path : paths) {
    const auto added = shelf.add(path);
    if (!added) return tl::unexpected(added.error());
  }
  return shelf;
}

}  // namespace weft::cli
