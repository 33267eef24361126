// weft reproduce ID...: claims of papers, measured here, each with its verdict.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/experiment/experiment.h"
#include "cli/reproduce/sensitivity.h"
#include "lab/field.h"
#include "lab/plan_file.h"

namespace weft::cli {
namespace {

using lab::Plan;

struct ReproduceOptions {
  std::vector<std::string> ids;
  bool all = false, list = false, sensitivity = false;
  SensitivityWish wish;
  ExperimentOptions experiment;
};

// The ids of experiments and of claims. An experiment and a claim may share an id, which is listed once.
std::vector<std::string_view> known_ids(const std::vector<Plan>& plans) {
  std::vector<std::string_view> ids;
  for (const Plan& plan : plans) {
    ids.emplace_back(plan.id);
    for (const lab::Claim& claim : plan.claims) {
      if (claim.id != plan.id) ids.emplace_back(claim.id);
    }
  }
  return ids;
}

void list(const std::vector<Plan>& plans) {
  for (const Plan& plan : plans) {
    fmt::print("{:<16} {}\n", plan.id, plan.title);
    for (const lab::Claim& claim : plan.claims) {
      if (claim.id != plan.id) fmt::print("  {:<14} {}\n", claim.id, claim.what);
      if (!claim.absent.empty()) fmt::print("  {:<14} absent: {}\n", "", claim.absent);
    }
  }
}

// An experiment as a whole, or with the claim of that name alone. False if there is neither.
bool pick(const std::vector<Plan>& plans, const std::string& id, std::vector<Plan>& asked) {
  const auto is_it = [&](const auto& it) { return it.id == id; };
  for (const Plan& plan : plans) {
    const auto claim = std::find_if(plan.claims.begin(), plan.claims.end(), is_it);
    if (plan.id != id && claim == plan.claims.end()) continue;
    auto target = std::find_if(asked.begin(), asked.end(), [&](const Plan& p) { return p.id == plan.id; });
    if (target == asked.end()) {
      target = asked.insert(asked.end(), plan);
      target->claims.clear();
    }
    if (plan.id == id) {
      target->claims = plan.claims;
    } else if (std::none_of(target->claims.begin(), target->claims.end(), is_it)) {
      target->claims.push_back(*claim);
    }
    return true;
  }
  return false;
}

int reproduce(const ReproduceOptions& options) {
  const auto shelf = shelf_of(options.experiment.profiles);
  if (!shelf) return usage_error(shelf.error());
  const auto plans = lab::library_plans(*shelf);
  if (!plans) return usage_error(plans.error());
  if (options.list) {
    list(*plans);
    return kOk;
  }
  if (options.all && !options.ids.empty()) return usage_error("either --all or some of them");
  const auto run_these = [&](const std::vector<Plan>& these) {
    return options.sensitivity ? run_sensitivity(these, options.wish, options.experiment)
                               : run_experiments(these, options.experiment);
  };
  if (options.all) return run_these(*plans);
  if (options.ids.empty()) return usage_error("which claim? weft reproduce --list names them, and --all runs them");
  std::vector<Plan> asked;
  for (const std::string& id : options.ids) {
    if (!pick(*plans, id, asked)) {
      return usage_error(fmt::format("there is no claim '{}'.{} weft reproduce --list names them", id,
                                     lab::did_you_mean(id, known_ids(*plans))));
    }
  }
  return run_these(asked);
}

}  // namespace

Command add_reproduce(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("reproduce", "Measure what papers claim, and say whether it is so here");
  auto options = std::make_shared<ReproduceOptions>();
  app.add_option("ID", options->ids, "Experiments or claims: srnic-fig2, srnic-table1, ...");
  app.add_flag("--all", options->all, "All experiments");
  app.add_flag("--list", options->list, "Name all experiments and claims");
  app.add_flag("--sensitivity", options->sensitivity,
               "Change every number of the cards, one at a time, and say which verdicts flip");
  app.add_option("--part", options->wish.part,
                 "With --sensitivity: by how much, up and down; 20% unless said otherwise")
      ->type_name("PART");
  app.add_option("--range", options->wish.ranges, "With --sensitivity: a range for one number; may be given again")
      ->type_name("KEY=LEAST..MOST");
  app.add_option("--only", options->wish.only, "With --sensitivity: this one alone; may be given again")
      ->type_name("KEY");
  add_experiment_options(app, options->experiment);
  return {.app = &app, .run = [options] { return reproduce(*options); }};
}

}  // namespace weft::cli
