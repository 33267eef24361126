#include "lab/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace weft::lab {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

// From the smallest to the largest.
constexpr std::array kTimes{Unit{"ps", 1}, Unit{"ns", 1e3}, Unit{"us", 1e6}, Unit{"ms", 1e9}, Unit{"s", 1e12}};
constexpr std::array kRates{Unit{"Mb/s", 1e6}, Unit{"Gb/s", 1e9}};
constexpr std::array kSizes{Unit{"B", 1}, Unit{"KB", 1024}, Unit{"MB", 1024.0 * 1024},
                            Unit{"GB", 1024.0 * 1024 * 1024}};
constexpr std::array kFrequencies{Unit{"MHz", 1}, Unit{"GHz", 1e3}};
constexpr std::array kFractions{Unit{"%", 0.01}};

std::span<const Unit> units(Kind kind) {
  switch (kind) {
    case Kind::time: return kTimes;
    case Kind::rate: return kRates;
    case Kind::size: return kSizes;
    case Kind::frequency: return kFrequencies;
    case Kind::fraction: return kFractions;
    case Kind::count:
    case Kind::truth:
    case Kind::choice: break;
  }
  return {};
}

}  // namespace

std::optional<double> in_base_unit(Kind kind, double value, std::string_view unit) {
  const bool needs_none = kind == Kind::count || kind == Kind::fraction || kind == Kind::size;
  if (unit.empty()) return needs_none || value == 0 ? std::optional(value) : std::nullopt;
  for (const Unit& u : units(kind)) {
    // Rounded, so that 1.1 us are 1 100 000 ps and not a little more.
    if (u.name == unit)
      return kind == Kind::fraction || kind == Kind::frequency ? value * u.size : std::round(value * u.size);
  }
  return std::nullopt;
}

std::string units_of(Kind kind) {
  const auto all = units(kind);
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    text.append(i == 0 ? "" : i + 1 == all.size() ? " or " : ", ").append(all[i].name);
  }
  return text;
}

bool has_units(Kind kind) { return !units(kind).empty(); }

std::string number_text(double value, int digits) { return fmt::format("{:.{}g}", value, digits); }

std::string quantity_text(Kind kind, double value) {
  const auto all = units(kind);
  if (kind == Kind::truth) return value != 0 ? "true" : "false";
  if (all.empty()) return number_text(value, 10);
  if (kind == Kind::fraction) return number_text(value * 100) + " %";
  const Unit* best = &all.front();
  for (const Unit& u : all) {
    if (std::abs(value) >= u.size) best = &u;
  }
  return fmt::format("{} {}", number_text(value / best->size), best->name);
}

std::optional<NumberAndUnit> split_unit(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  return NumberAndUnit{number, unit};
}

}  // namespace weft::lab
