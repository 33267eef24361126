// weft reproduce ID...: claims of papers, measured here, each with its verdict.
#include <algorithm>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/reproduce/claims.h"
#include "cli/reproduce/measure.h"

namespace weft::cli {
namespace {

struct Options {
  std::vector<std::string> ids;
  bool json = false;
};

std::string known_ids(const std::vector<Claim>& claims) {
  std::string all;
  for (const Claim& claim : claims) all.append(all.empty() ? "" : ", ").append(claim.id);
  return all;
}

constexpr const char* kMet = "met";
constexpr const char* kMissed = "missed";

nlohmann::json judge(const Claim& claim, const ClaimRow& row) {
  const std::optional<double> measured = measure(claim.id, row.name);
  const bool met = measured && is_met(row.band, row.claimed, *measured);
  nlohmann::json out{{"id", claim.id},
                     {"row", row.name},
                     {"claimed", std::strtod(row.claimed.c_str(), nullptr)},
                     {"measured", nullptr},
                     {"unit", row.unit},
                     {"band", row.band_text},
                     {"source", claim.source},
                     {"verdict", !met             ? kMissed
                                 : row.calibrated ? "calibrated"
                                                  : kMet}};
  if (measured) out["measured"] = *measured;
  return out;
}

// A row for each value, and behind several one for all of them.
nlohmann::json judge(const Claim& claim) {
  nlohmann::json rows = nlohmann::json::array();
  std::size_t met = 0;
  for (const ClaimRow& row : claim.rows) {
    rows.push_back(judge(claim, row));
    if (rows.back()["verdict"] != kMissed) ++met;
  }
  if (claim.rows.size() == 1) return rows;
  rows.push_back({{"id", claim.id},
                  {"row", nullptr},
                  {"claimed", claim.rows.size()},
                  {"measured", met},
                  {"unit", "rows"},
                  {"band", "every row"},
                  {"source", claim.source},
                  {"verdict", met == claim.rows.size() ? kMet : kMissed}});
  return rows;
}

void print(const Claim& claim, const nlohmann::json& rows) {
  fmt::print("{}: {} ({})\n", claim.id, claim.what, claim.source);
  fmt::print("  {:<38} {:>8} {:<4} {:>9}  {:<9}  {}\n", "", "claimed", "", "measured", "band", "verdict");
  for (const auto& row : rows) {
    const bool whole = row["row"].is_null();
    const std::string measured = row["measured"].is_null() ? "not here"
                                 : whole                   ? row["measured"].dump()
                                                           : fmt::format("{:.2f}", row["measured"].get<double>());
    fmt::print("  {:<38} {:>8} {:<4} {:>9}  {:<9}  {}\n", whole ? "all" : row["row"].get<std::string>(),
               fmt::format("{:g}", row["claimed"].get<double>()), row["unit"].get<std::string>(), measured,
               row["band"].get<std::string>(), row["verdict"].get<std::string>());
  }
  fmt::print("\n");
}

int run(const Options& options) {
  const std::vector<Claim> claims = known_claims();
  if (options.ids.empty()) return usage_error(fmt::format("which claim? Known are {}", known_ids(claims)));
  std::vector<const Claim*> asked;
  for (const std::string& id : options.ids) {
    const auto found = std::find_if(claims.begin(), claims.end(), [&](const Claim& c) { return c.id == id; });
    if (found == claims.end()) {
      return usage_error(fmt::format("there is no claim '{}'; known are {}", id, known_ids(claims)));
    }
    asked.push_back(&*found);
  }
  bool missed = false;
  nlohmann::json all = nlohmann::json::array();
  for (const Claim* claim : asked) {
    const nlohmann::json rows = judge(*claim);
    missed |= std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row["verdict"] == kMissed; });
    if (!options.json) print(*claim, rows);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  if (options.json) fmt::print("{}\n", all.dump(2));
  return missed ? kFailed : kOk;
}

}  // namespace

Command add_reproduce(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("reproduce", "Measure what papers claim, and say whether it is so here");
  auto options = std::make_shared<Options>();
  app.add_option("ID", options->ids, "Claims: srnic-table1, ...; without any, those that are known are listed");
  app.add_flag("--json", options->json, "Print as JSON");
  return {.app = &app, .run = [options] { return run(*options); }};
}

}  // namespace weft::cli
