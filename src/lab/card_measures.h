// What the card's structures and encoder are, computed from themselves: `card.NAME` in the claims of a plan.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace weft::lab {

struct CardMeasure {
  std::string_view name, what;
  std::optional<double> (*measure)();  // nothing if this build has no such thing
};

[[nodiscard]] std::span<const CardMeasure> card_measures();
[[nodiscard]] const CardMeasure* find_card_measure(std::string_view name);

}  // namespace weft::lab
