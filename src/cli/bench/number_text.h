// A number that may be missing, for people.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

namespace weft::cli {

[[nodiscard]] inline std::string number_text(const std::optional<double>& n) {
  return n ? fmt::format("{:.2f}", *n) : "-";
}

}  // namespace weft::cli
