// A claim of a paper beside what was measured here: met, missed, calibrated, or not measured yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::lab {

// How far from the claim is still the claim.
struct Band {
  enum class Kind : std::uint8_t { exact, within, at_most, at_least, between };
  Kind kind = Kind::exact;
  double bound = 0;  // per cent, or the value itself; between: the least
  double most = 0;   // between alone
};

// "exact", "5%", "<= 4.4", ">= 17.8", "256..512"; nothing for anything else.
[[nodiscard]] std::optional<Band> parse_band(std::string_view text);

// `claimed` is a number as it was printed: its digits say how exactly it is meant.
[[nodiscard]] bool is_met(const Band& band, const std::string& claimed, double measured);

enum class Verdict : std::uint8_t {
  met,
  missed,
  calibrated,  // as claimed, but because a parameter was chosen so: an input, and no result
  absent,      // nothing here measures it yet
};
[[nodiscard]] std::string_view verdict_text(Verdict verdict);

}  // namespace weft::lab
