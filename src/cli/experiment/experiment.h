// Runs plans and says what came of them, in all the ways that one can ask for.
#pragma once

#include <string>
#include <vector>

#include "cli/experiment/options.h"
#include "lab/plan.h"

namespace weft::cli {

// Answers the exit code: kFailed if a claim is missed or a run fails.
int run_experiments(const std::vector<lab::Plan>& plans, const ExperimentOptions& options);

}  // namespace weft::cli
