// What `weft bench connections` measures: its points in their order, and how long.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/connections/bench.h"
#include "cli/bench/connections/table.h"

namespace weft::cli {

struct LoadPlan {
  LoadTable table;  // with its cells, all of them empty
  unsigned rounds = 0;
};

// What is compared stands together: the transports of a point, then the points of a row.
[[nodiscard]] LoadPlan plan_of(const LoadBench& bench);

// The words behind `weft` that measure a point. `loss`: "0", "1%". Rounds differ by their seed alone.
[[nodiscard]] std::vector<std::string> words_of(const LoadPoint& point, const std::string& loss, unsigned round,
                                                std::uint32_t milliseconds);

}  // namespace weft::cli
