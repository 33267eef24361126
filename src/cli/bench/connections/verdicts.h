// What the project promises of connections under load, judged by the table.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/connections/table.h"

namespace weft::cli {

struct LoadVerdict {
  std::string what;
  double limit = 0;
  bool at_most = false;         // else at least
  std::size_t judged = 0;       // points
  std::size_t held = 0;         // of these, those within the limit
  std::optional<double> worst;  // nothing: it did not run
  std::string where;            // the point that it is of

  [[nodiscard]] bool met() const { return judged > 0 && held == judged; }
};

// The verdicts of which the table has at least one point. A point that did not run is the worst there can be.
[[nodiscard]] std::vector<LoadVerdict> verdicts_of(const LoadTable& table);

// "udp srnic send, depth 128, 1024 queue pairs"
[[nodiscard]] std::string text_of(const LoadPoint& point);

}  // namespace weft::cli
