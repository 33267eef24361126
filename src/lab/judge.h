// Claims beside results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/study.h"

namespace weft::lab {

struct JudgedRow {
  const ClaimRow* row;
  std::optional<double> measured;
  std::string failure;  // why there is nothing measured
  Verdict verdict;

  // What is expected: a row that says why it is missed is known to be.
  [[nodiscard]] Verdict recorded() const {
    return !row->why.empty() ? Verdict::missed : row->calibrated ? Verdict::calibrated : Verdict::met;
  }
};
struct JudgedClaim {
  const Claim* claim;
  std::vector<JudgedRow> rows;  // in the quick set, those that belong to it; perhaps none

  [[nodiscard]] std::size_t count(Verdict verdict) const;
};

[[nodiscard]] std::vector<JudgedClaim> judge(const Study& study);

}  // namespace weft::lab
