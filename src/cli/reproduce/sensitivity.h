// weft reproduce ID --sensitivity: which verdicts hang on which numbers of the cards.
#pragma once

#include <string>
#include <vector>

#include "cli/experiment/options.h"
#include "lab/plan.h"

namespace weft::cli {

struct SensitivityWish {
  std::string part;                 // "20%"
  std::vector<std::string> ranges;  // "pcie.read_latency=600 ns..1.2 us"
  std::vector<std::string> only;    // "pcie.lanes"
};

int run_sensitivity(const std::vector<lab::Plan>& plans, const SensitivityWish& wish, const ExperimentOptions& options);

}  // namespace weft::cli
