// What a row of a claim is here, measured or computed from the structures and the encoder themselves.
#pragma once

#include <optional>
#include <string_view>

namespace weft::cli {

[[nodiscard]] bool can_measure(std::string_view claim, std::string_view row);
// In the unit of the claim; nothing if this build has no such thing, or there is no such row.
[[nodiscard]] std::optional<double> measure(std::string_view claim, std::string_view row);

}  // namespace weft::cli
