#include "lab/profile_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lab/on_chip_need.h"
#include "lab/profile_fields.h"
#include "lab/toml_reader.h"

namespace weft::lab {
namespace {

constexpr std::array<std::string_view, 3> kHead{"title", "what", "extends"};
constexpr std::array<std::string_view, 4> kOrigins{"source", "calibrated", "swept", "assumed"};
constexpr std::array<std::string_view, 6> kParts{"value", "unit", "source", "calibrated", "swept", "assumed"};

bool is_parameter(const toml::table& table) { return table.contains("value"); }

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys(kHead.begin(), kHead.end());
  for (const auto& f : profile_fields()) keys.push_back(f.key);
  return keys;
}

// Where a number comes from: exactly one of source, calibrated, swept, assumed, and not empty.
tl::expected<Parameter, std::string> read_origin(const toml::table& table, const Leaf& leaf,
                                                 const FilePosition& place) {
  Parameter parameter;
  parameter.key = leaf.key;
  int said = 0;
  for (const std::string_view origin : kOrigins) {
    const auto text = read_text(table, origin, place);
    if (!text) return Problem(text.error());
    if (text->empty()) continue;
    ++said;
    (origin == "source"       ? parameter.source
     : origin == "calibrated" ? parameter.calibrated_on
     : origin == "swept"      ? parameter.swept_by
                              : parameter.assumed) = *text;
  }
  if (said == 1) return parameter;
  return place.problem(
      leaf.at, fmt::format("{} {}: source = \"...\" if somebody says so, calibrated = \"CLAIM\" if it was "
                           "chosen to meet one, swept = \"EXPERIMENT\" if that tries others, assumed = \"why\" if "
                           "nothing depends on it",
                           leaf.key, said == 0 ? "has no source" : "has more than one source"));
}

tl::expected<Parameter, std::string> read_parameter(const Leaf& leaf, const FilePosition& place, Profile& profile) {
  const auto* field = find_profile_field(leaf.key);
  if (field == nullptr) {
    const std::string hint = did_you_mean(leaf.key, known_keys());
    return place.problem(leaf.at, fmt::format("a profile has no '{}'.{}", leaf.key, hint));
  }
  const toml::table* table = leaf.node->as_table();
  if (table == nullptr) {
    return place.problem(leaf.at,
                         fmt::format("{} is {{ value = ..., source = \"...\" }}: every number has a source, or "
                                     "says what it was calibrated on, where it is swept, or why it is assumed",
                                     leaf.key));
  }
  if (const auto known = check_keys(*table, place, kParts); !known) return Problem(known.error());
  const auto unit = read_text(*table, "unit", place);
  if (!unit) return Problem(unit.error());
  const toml::node& node = *table->get("value");
  const auto value = read_value(*field, node, *unit);
  if (!value) return place.problem(node, value.error());
  auto parameter = read_origin(*table, leaf, place);
  if (!parameter) return parameter;
  field->set(profile, *value);
  parameter->value = value_text(*field, *value);
  parameter->from = profile.name;
  return parameter;
}

void keep(std::vector<Parameter>& all, Parameter parameter) {
  const auto same = std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.key == parameter.key; });
  if (same == all.end()) {
    all.push_back(std::move(parameter));
  } else {
    *same = std::move(parameter);
  }
}

tl::expected<Profile, std::string> read_base(const toml::table& table, const FilePosition& place,
                                             const FindProfile& find) {
  const toml::node* extends = table.get("extends");
  if (extends == nullptr) return Profile{};
  const auto name = read_text(table, "extends", place);
  if (!name) return Problem(name.error());
  auto base = find(*name);
  if (!base) return place.problem(*extends, base.error());
  return base;
}

}  // namespace

tl::expected<Profile, std::string> read_profile(std::string_view text, const std::string& file, const std::string& name,
                                                const FindProfile& find) {
  const FilePosition place(file);
  const auto table = parse_toml(text, place);
  if (!table) return Problem(table.error());
  auto profile = read_base(*table, place, find);
  if (!profile) return profile;
  profile->name = name;
  toml::source_position memory{1, 1};
  for (const Leaf& leaf : flatten(*table, is_parameter)) {
    if (std::find(kHead.begin(), kHead.end(), leaf.key) != kHead.end()) continue;
    auto parameter = read_parameter(leaf, place, *profile);
    if (!parameter) return Problem(parameter.error());
    if (leaf.key == "sram_bytes") memory = leaf.at;
    keep(profile->parameters, std::move(*parameter));
  }
  for (const auto& [key, target] : {std::pair("title", &profile->title), std::pair("what", &profile->what)}) {
    const auto said = read_text(*table, key, place);
    if (!said) return Problem(said.error());
    if (!said->empty()) *target = *said;
  }
  if (profile->title.empty()) profile->title = name;
  if (const std::string reason = does_not_fit(*profile); !reason.empty()) return place.problem(memory, reason);
  return profile;
}

}  // namespace weft::lab
