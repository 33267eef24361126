#include "cli/reproduce/claims.h"

#include <cassert>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/reproduce/experiments.h"

// Header-only, as in world/real/settings_file.cc.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace weft::cli {
namespace {

using Problem = tl::unexpected<std::string>;

std::string text(const toml::table& table, std::string_view key) { return table[key].value_or(std::string()); }
// A row's own, or else what its claim says for all rows.
std::string text(const toml::table& row, const toml::table& claim, std::string_view key) {
  return row.contains(key) ? text(row, key) : text(claim, key);
}

tl::expected<ClaimRow, std::string> parse_row(const toml::table& row, const toml::table& claim) {
  ClaimRow out{.name = text(row, "name"),
               .claimed = text(row, "claimed"),
               .unit = text(row, claim, "unit"),
               .band_text = text(row, claim, "band"),
               .band = {},
               .calibrated = row["calibrated"].value_or(false)};
  char* end = nullptr;
  (void)std::strtod(out.claimed.c_str(), &end);
  if (out.name.empty()) return Problem("a row without a name");
  if (out.claimed.empty() || *end != '\0') return Problem(fmt::format("{}: '{}' is no number", out.name, out.claimed));
  const auto band = parse_band(out.band_text);
  if (!band) return Problem(fmt::format("{}: '{}' is no band", out.name, out.band_text));
  out.band = *band;
  return out;
}

tl::expected<Claim, std::string> parse_claim(const toml::table& table) {
  Claim claim{.id = text(table, "id"), .what = text(table, "what"), .source = text(table, "source"), .rows = {}};
  const toml::array* rows = table["row"].as_array();
  if (claim.id.empty() || claim.what.empty() || claim.source.empty() || rows == nullptr || rows->empty()) {
    return Problem(fmt::format("claim '{}': id, what, source and row are needed", claim.id));
  }
  for (const toml::node& node : *rows) {
    const toml::table* row = node.as_table();
    if (row == nullptr) return Problem(claim.id + ": a row is a table");
    auto parsed = parse_row(*row, table);
    if (!parsed) return Problem(claim.id + ": " + parsed.error());
    claim.rows.push_back(std::move(*parsed));
  }
  return claim;
}

}  // namespace

tl::expected<std::vector<Claim>, std::string> parse_claims(std::string_view toml) {
  const toml::parse_result file = toml::parse(toml);
  if (!file) {
    return Problem(fmt::format("line {}: {}", file.error().source().begin.line, file.error().description()));
  }
  std::vector<Claim> out;
  const toml::array* claims = file.table()["claim"].as_array();
  if (claims == nullptr) return Problem("no [[claim]]");
  for (const toml::node& node : *claims) {
    if (!node.is_table()) return Problem("a claim is a table");
    auto claim = parse_claim(*node.as_table());
    if (!claim) return Problem(claim.error());
    out.push_back(std::move(*claim));
  }
  return out;
}

std::vector<Claim> known_claims() {
  std::vector<Claim> all;
  for (const std::string_view file : kExperiments) {
    auto claims = parse_claims(file);
    assert(claims && "experiments/*.toml, which claims_test reads");
    all.insert(all.end(), claims->begin(), claims->end());
  }
  return all;
}

}  // namespace weft::cli
