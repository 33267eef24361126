// weft sim PLAN.toml: an experiment of one's own.
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/experiment/experiment.h"
#include "lab/plan_file.h"

namespace weft::cli {
namespace {

struct SimOptions {
  std::string plan;
  ExperimentOptions experiment;
};

int run_plan(const SimOptions& options) {
  if (options.plan.empty()) return usage_error("which PLAN? docs/experiments.md tells how to write one");
  const auto shelf = shelf_of(options.experiment.profiles);
  if (!shelf) return usage_error(shelf.error());
  const std::filesystem::path path = options.plan;
  const auto text = lab::read_file(path);
  if (!text) return usage_error(text.error());
  auto plan = lab::read_plan(*text, options.plan, *shelf, path.parent_path());
  if (!plan) return usage_error(plan.error());
  return run_experiments({std::move(*plan)}, options.experiment);
}

}  // namespace

Command add_sim(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("sim", "Run an experiment of your own: cards, workload and sweep from a file");
  auto options = std::make_shared<SimOptions>();
  app.add_option("PLAN", options->plan, "The plan, a TOML file; docs/experiments.md tells how to write one");
  add_experiment_options(app, options->experiment);
  return {.app = &app, .run = [options] { return run_plan(*options); }};
}

}  // namespace weft::cli
