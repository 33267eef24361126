// Numbers with units, as profiles and plans write them. Inside, each kind has one unit: picoseconds, bits a second,
// bytes, megahertz.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::lab {

enum class Kind : std::uint8_t { count, fraction, time, rate, size, frequency, truth, choice };

// A number in a unit of its kind; nothing if the kind has no such unit. Counts, fractions and sizes may go without.
[[nodiscard]] std::optional<double> in_base_unit(Kind kind, double value, std::string_view unit);

// "ps, ns, us or ms", for people who wrote something else.
[[nodiscard]] std::string units_of(Kind kind);
[[nodiscard]] bool has_units(Kind kind);

// 1.1 us, 100 Gb/s, 16 KB: in the largest unit that leaves a number of at least one.
[[nodiscard]] std::string quantity_text(Kind kind, double value);

// A number of at most `digits` digits, without zeros behind.
[[nodiscard]] std::string number_text(double value, int digits = 6);

// A number with or without a unit behind it, "16 KB", "200us", "0.1%"; nothing for anything else.
struct NumberAndUnit {
  double number;
  std::string_view unit;
};
[[nodiscard]] std::optional<NumberAndUnit> split_unit(std::string_view text);

}  // namespace weft::lab
