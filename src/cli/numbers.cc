#include "cli/numbers.h"

#include <charconv>

namespace weft::cli {
namespace {

template <class Number, class... Format>
std::optional<Number> parse_all_of(std::string_view text, Format... format) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_probability(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  std::optional<double> value = parse_all_of<double>(text, std::chars_format::fixed);
  if (value && percent) *value /= 100;
  if (!value || !(*value >= 0 && *value <= 1)) return std::nullopt;  // not so: infinity, NaN
  return value;
}

std::optional<std::uint64_t> parse_whole(std::string_view text) { return parse_all_of<std::uint64_t>(text); }

}  // namespace weft::cli
