// weft sim PLAN.toml: an experiment of one's own.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/experiment/experiment.h"
#include "lab/metrics.h"
#include "lab/plan_file.h"
#include "lab/setting_fields.h"

namespace weft::cli {
namespace {

struct SimOptions {
  std::string plan;
  bool settings = false, metrics = false;
  ExperimentOptions experiment;
};

// "count", "time (ps, ns, us or ms)", "send, write or read"
std::string range_text(const lab::FieldInfo& f) {
  switch (f.kind) {
    case lab::Kind::choice: return lab::in_a_row(f.choices);
    case lab::Kind::truth: return "true, false";
    case lab::Kind::count: return fmt::format("{:.0f} to {:.0f}", f.least, f.most);
    case lab::Kind::fraction: return "0 to 1, or %";
    default: return lab::units_of(f.kind);
  }
}

std::string settings_text() {
  const lab::Setting usual;
  std::string text = "Settings of the workload and the network:\n";
  bool of_profile = false;
  for (const lab::SettingField& field : lab::all_setting_fields()) {
    if (field.is_of_profile() && !std::exchange(of_profile, true)) {
      text += "\nSettings of the card; unless a plan changes them, the profile says what they are:\n";
    }
    const lab::FieldInfo& f = field.info();
    if (field.is_of_profile() != lab::find_setting_field(f.key)->is_of_profile()) continue;  // its key means another
    text += fmt::format("  {:<24} {:<22} {:<10} {}\n", f.key, range_text(f),
                        field.is_of_profile() ? "" : lab::value_text(f, field.get(usual)), f.meaning);
  }
  return text;
}

std::string metrics_text() {
  std::string text;
  for (const lab::Metric& m : lab::kMetrics) text += fmt::format("  {:<24} {:<10} {}\n", m.name, m.unit, m.what);
  return text;
}

int run_plan(const SimOptions& options) {
  if (options.settings || options.metrics) {
    fmt::print("{}{}", options.settings ? settings_text() : "", options.metrics ? metrics_text() : "");
    return kOk;
  }
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
  app.add_flag("--settings", options->settings, "List every setting that a plan can give or sweep");
  app.add_flag("--metrics", options->metrics, "List everything that a run measures");
  add_experiment_options(app, options->experiment);
  return {.app = &app, .run = [options] { return run_plan(*options); }};
}

}  // namespace weft::cli
