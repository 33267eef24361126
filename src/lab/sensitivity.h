// Which verdicts hang on which numbers: every number of the profiles is made smaller and larger, one at a time, and the
// claims are judged again, over as many seeds as usual.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/judge.h"
#include "lab/sweep.h"

namespace weft::lab {

// One number of one profile is another one.
struct Perturbation {
  std::string profile;
  SettingField field;
  double usual, value;
};

// A range of one's own for a number, instead of the usual part of it.
struct OwnRange {
  SettingField field;
  double least, most;
};

struct SensitivityOptions {
  double part = 0.2;  // up and down, of each number
  std::vector<OwnRange> ranges;
  std::vector<std::string> only;  // keys; all if there are none
  Extent extent = Extent::full;
  std::optional<std::uint64_t> seed;
  std::size_t seeds = 1;  // from that on
  SweepOptions sweep;
};

// What became of a row: as it was, and with a number changed.
struct RowEffect {
  std::size_t perturbation;  // of Sensitivity::perturbations
  std::optional<Spread> measured;
  std::size_t met = 0;  // how many of the seeds were within the band
  Verdict verdict;
  std::string failure;
};
struct SensitiveRow {
  std::string claim;
  const ClaimRow* row;
  std::optional<Spread> measured;
  std::size_t met = 0;
  Verdict verdict;
  std::vector<RowEffect> effects;  // those that change a verdict first, then by how much they change the number

  [[nodiscard]] bool flips(const RowEffect& effect) const { return effect.verdict != verdict; }
};
struct Sensitivity {
  const Plan* plan;
  std::vector<Perturbation> perturbations;
  std::vector<SensitiveRow> rows;  // simulated ones
};

// All numbers of the profiles that claims are about, and those of the workload that papers tend to leave open. Numbers
// that are 0 (none, or no limit) stay as they are; counts change by one at least; what is true or a choice becomes what
// else it can be, but for what the card speaks. What the plan itself sets for a series is the plan's, and stays.
[[nodiscard]] std::vector<Perturbation> perturbations_of(const Plan& plan, double part,
                                                         const std::vector<OwnRange>& ranges);

[[nodiscard]] Sensitivity sensitivity_of(const Plan& plan, const SensitivityOptions& options);

}  // namespace weft::lab
