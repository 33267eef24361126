// A number that may be missing, in JSON.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

namespace weft::cli {

[[nodiscard]] inline nlohmann::json number_or_null(const std::optional<double>& n) {
  return n ? nlohmann::json(*n) : nlohmann::json();
}

}  // namespace weft::cli
