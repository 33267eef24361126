// The table of the load for people, for programs, and as a page with pictures.
#pragma once

#include <string>

#include "cli/bench/connections/table.h"
#include "cli/bench/connections/verdicts.h"

namespace weft::cli {

[[nodiscard]] std::string load_text(const LoadTable& table);
[[nodiscard]] std::string load_json(const LoadTable& table);
[[nodiscard]] std::string load_page(const LoadTable& table);

// The cells of one row of the table, as text and page show them, and what they are called.
struct LoadRowTexts {
  std::string wire, transport, verb, depth, qps, rate, gbits, of_best, of_roce, again, shares, median, p99, remark;
};
[[nodiscard]] LoadRowTexts row_texts(const LoadTable& table, const LoadCell& cell);
// "0.97", "0.004 %" as the verdict's values are.
[[nodiscard]] std::string value_text(const LoadVerdict& verdict, const std::optional<double>& value);

}  // namespace weft::cli
