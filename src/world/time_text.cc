#include "world/time_text.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace weft::world {
namespace {

struct Unit {
  std::string_view name;
  Time size;
};
constexpr std::array kUnits{Unit{"s", seconds(1)}, Unit{"ms", milliseconds(1)}, Unit{"us", microseconds(1)},
                            Unit{"ns", nanoseconds(1)}, Unit{"ps", 1}};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits after the point, as a part of `size`. More of them than the unit has picoseconds for are refused.
std::optional<Time> fraction(std::string_view digits, Time size) {
  Time sum = 0;
  for (const char c : digits) {
    if (size % 10 != 0) return std::nullopt;
    size /= 10;
    sum += size * (c - '0');
  }
  return sum;
}

}  // namespace

std::string time_text(Time time) {
  if (time == kNever) return "never";
  if (time == 0) return "0ps";
  for (const Unit& unit : kUnits) {
    if (time % unit.size == 0) return std::to_string(time / unit.size).append(unit.name);
  }
  return {};  // unreachable: one picosecond divides everything
}

std::optional<Time> parse_time(std::string_view text) {
  if (text == "never") return kNever;
  std::size_t whole_end = 0;
  while (whole_end < text.size() && is_digit(text[whole_end])) ++whole_end;
  std::size_t number_end = whole_end;
  if (number_end < text.size() && text[number_end] == '.') {
    ++number_end;
    while (number_end < text.size() && is_digit(text[number_end])) ++number_end;
    if (number_end == whole_end + 1) return std::nullopt;
  }
  std::int64_t whole = 0;
  if (std::from_chars(text.data(), text.data() + whole_end, whole).ec != std::errc{}) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(number_end) != unit.name) continue;
    const std::string_view digits =
        number_end > whole_end ? text.substr(whole_end + 1, number_end - whole_end - 1) : "";
    const std::optional<Time> part = fraction(digits, unit.size);
    if (!part || whole > (kNever - 1 - *part) / unit.size) return std::nullopt;
    return whole * unit.size + *part;
  }
  return std::nullopt;
}

}  // namespace weft::world
