// weft profiles [NAME]: the cards that can be simulated, and every number of one with its source.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/experiment/options.h"

namespace weft::cli {
namespace {

struct ProfilesOptions {
  std::string name;
  std::vector<std::string> profiles;
  bool json = false;
};

std::string origin_of(const lab::Parameter& p) {
  if (!p.source.empty()) return p.source;
  if (!p.swept_by.empty()) return "swept by " + p.swept_by;
  return p.calibrated_on.empty() ? "assumed: " + p.assumed : "calibrated on " + p.calibrated_on;
}

nlohmann::json profile_json(const lab::Profile& profile) {
  nlohmann::json out{{"name", profile.name},
                     {"title", profile.title},
                     {"what", profile.what},
                     {"parameters", nlohmann::json::array()}};
  for (const lab::Parameter& p : profile.parameters) {
    nlohmann::json one{{"key", p.key}, {"value", p.value}, {"profile", p.from}};
    if (!p.source.empty()) one["source"] = p.source;
    if (!p.calibrated_on.empty()) one["calibrated"] = p.calibrated_on;
    if (!p.swept_by.empty()) one["swept"] = p.swept_by;
    if (!p.assumed.empty()) one["assumed"] = p.assumed;
    out["parameters"].push_back(std::move(one));
  }
  return out;
}

int show_profiles(const ProfilesOptions& options) {
  const auto shelf = shelf_of(options.profiles);
  if (!shelf) return usage_error(shelf.error());
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& name : options.name.empty() ? shelf->names() : std::vector{options.name}) {
    const auto profile = shelf->find(name);
    if (!profile) return usage_error(profile.error());
    all.push_back(profile_json(*profile));
    if (options.json) continue;
    fmt::print("{:<12} {:<20} {}\n", name, profile->title, options.name.empty() ? profile->what : "");
    if (options.name.empty()) continue;
    fmt::print("{}\n", profile->what);
    for (const lab::Parameter& p : profile->parameters)
      fmt::print("  {:<22} {:>12}  {}\n", p.key, p.value, origin_of(p));
  }
  if (options.json) fmt::print("{}\n", (options.name.empty() ? all : all[0]).dump(2));
  return kOk;
}

}  // namespace

Command add_profiles(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("profiles", "Cards that can be simulated, each number with its source");
  auto options = std::make_shared<ProfilesOptions>();
  app.add_option("NAME", options->name, "All that is known of this one; or the path of a file");
  app.add_option("--profiles", options->profiles, "A profile of yours, or a folder of them")->type_name("PATH");
  app.add_flag("--json", options->json, "Print as JSON");
  return {.app = &app, .run = [options] { return show_profiles(*options); }};
}

}  // namespace weft::cli
