// A claim of a paper beside what was measured here: met, missed, or calibrated.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::cli {

// How far from the claim is still the claim.
struct Band {
  enum class Kind { exact, within, at_most, at_least };
  Kind kind = Kind::exact;
  double bound = 0;  // per cent, or the value itself
};

// "exact", "5%", "<= 4.4", ">= 17.8"; nothing for anything else.
[[nodiscard]] std::optional<Band> parse_band(std::string_view text);

// `claimed` is a number as it was printed: its digits say how exactly it is meant.
[[nodiscard]] bool is_met(const Band& band, const std::string& claimed, double measured);

}  // namespace weft::cli
