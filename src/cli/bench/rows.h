// Rows of measures: interleaved, round by round, and what came of them, ratios first.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/measure.h"

namespace weft::cli {

struct RowOptions {
  std::string only;  // rows whose name contains this
  unsigned rounds = 5;
  bool json = false;
};

// The exit code.
int measure_and_print(std::vector<Measure> measures, const RowOptions& options);

}  // namespace weft::cli
