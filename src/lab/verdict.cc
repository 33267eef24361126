#include "lab/verdict.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace weft::lab {
namespace {

std::optional<double> number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Band> parse_band(std::string_view text) {
  if (text == "exact") return Band{};
  Band band;
  std::optional<double> bound;
  if (const std::size_t dots = text.find(".."); dots != std::string_view::npos) {
    const auto most = number(text.substr(dots + 2));
    bound = number(text.substr(0, dots));
    if (!bound || !most || *most < *bound) return std::nullopt;
    return Band{Band::Kind::between, *bound, *most};
  }
  if (text.starts_with("<=") || text.starts_with(">=")) {
    band.kind = text[0] == '<' ? Band::Kind::at_most : Band::Kind::at_least;
    bound = number(text.substr(2));
  } else if (text.ends_with('%')) {
    band.kind = Band::Kind::within;
    bound = number(text.substr(0, text.size() - 1));
    if (bound && *bound < 0) return std::nullopt;
  }
  if (!bound) return std::nullopt;
  band.bound = *bound;
  return band;
}

bool is_met(const Band& band, const std::string& claimed, double measured) {
  const double claim = std::strtod(claimed.c_str(), nullptr);
  switch (band.kind) {
    case Band::Kind::at_most: return measured <= band.bound;
    case Band::Kind::at_least: return measured >= band.bound;
    case Band::Kind::within: return std::abs(measured - claim) <= std::abs(claim) * band.bound / 100;
    case Band::Kind::between: return measured >= band.bound && measured <= band.most;
    case Band::Kind::exact: break;
  }
  const std::size_t point = claimed.find('.');
  const double scale = std::pow(10, point == std::string::npos ? 0 : claimed.size() - point - 1);
  return std::round(measured * scale) == std::round(claim * scale);
}

std::string_view verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::met: return "met";
    case Verdict::missed: return "missed";
    case Verdict::calibrated: return "calibrated";
    case Verdict::absent: return "absent";
  }
  return "";
}

}  // namespace weft::lab
