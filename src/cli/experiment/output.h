// Results as people and as programs read them.
#pragma once

#include <string>
#include <vector>

#include "lab/study.h"

namespace weft::cli {

// Each figure as a table, then each claim.
[[nodiscard]] std::string tables_text(const std::vector<lab::Study>& studies);
// A row of each claim: id, row, claimed, measured, unit, band, verdict, recorded, seed, ...
[[nodiscard]] std::string verdicts_json(const std::vector<lab::Study>& studies);
// A line for each metric of each point.
[[nodiscard]] std::string points_csv(const std::vector<lab::Study>& studies);

}  // namespace weft::cli
