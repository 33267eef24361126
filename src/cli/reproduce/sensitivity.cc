#include "cli/reproduce/sensitivity.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/experiment/files.h"
#include "cli/experiment/progress.h"
#include "cli/numbers.h"
#include "lab/report/tornado.h"
#include "lab/sensitivity.h"

namespace weft::cli {
namespace {

using lab::Sensitivity;

constexpr std::size_t kShown = 8;  // that move a number without changing its verdict

std::string number_of(const lab::FieldInfo& f, double value) { return lab::value_text(f, value); }

// One end of a range, with or without a unit.
std::optional<double> end_of(const lab::FieldInfo& f, std::string_view text) {
  const auto parts = lab::split_unit(text);
  if (!parts) return std::nullopt;
  const auto value = lab::in_base_unit(f.kind, parts->number, parts->unit);
  return value && *value >= f.least && *value <= f.most ? value : std::nullopt;
}

tl::expected<lab::OwnRange, std::string> range_of(const std::string& text) {
  const std::size_t is = text.find('='), dots = text.find("..");
  if (is == std::string::npos || dots == std::string::npos || dots < is) {
    return tl::unexpected(fmt::format("--range: KEY=LEAST..MOST, not '{}'", text));
  }
  const std::string key = text.substr(0, is);
  const auto field = lab::find_setting_field(key);
  if (!field || field->info().kind == lab::Kind::truth || field->info().kind == lab::Kind::choice) {
    return tl::unexpected(
        fmt::format("--range: there is no number '{}'.{}", key, lab::did_you_mean(key, lab::all_setting_keys())));
  }
  const auto least = end_of(field->info(), text.substr(is + 1, dots - is - 1));
  const auto most = end_of(field->info(), text.substr(dots + 2));
  if (!least || !most || *most <= *least) {
    return tl::unexpected(fmt::format("--range: '{}' is no range of {}", text.substr(is + 1), key));
  }
  return lab::OwnRange{*field, *least, *most};
}

std::string mean_text(const std::optional<lab::Spread>& measured) {
  return measured ? fmt::format("{:.2f}", measured->mean) : "nothing";
}
// How many seeds were within the band, where there are several.
std::string seeds_text(const std::optional<lab::Spread>& measured, std::size_t met) {
  return measured && measured->count > 1 ? fmt::format(" {}/{}", met, measured->count) : "";
}

std::string effect_line(const Sensitivity& s, const lab::RowEffect& e) {
  const lab::Perturbation& p = s.perturbations[e.perturbation];
  return fmt::format("    {:<44} {:>12} instead of {:<12} {:>10}{}  {}\n",
                     fmt::format("{} {}", p.profile, p.field.info().key), number_of(p.field.info(), p.value),
                     number_of(p.field.info(), p.usual), mean_text(e.measured), seeds_text(e.measured, e.met),
                     verdict_text(e.verdict));
}

std::string sensitivity_text(const Sensitivity& s) {
  std::string text = fmt::format("{}: {} numbers changed, one at a time\n", s.plan->id, s.perturbations.size());
  for (const lab::SensitiveRow& row : s.rows) {
    text += fmt::format("  {}, {}: {} {}{}, {}\n", row.claim, row.row->name, mean_text(row.measured), row.row->unit,
                        seeds_text(row.measured, row.met), verdict_text(row.verdict));
    std::size_t others = 0;
    for (const lab::RowEffect& e : row.effects) {
      const bool moves = e.measured && row.measured && e.measured->mean != row.measured->mean;
      if (row.flips(e) || (moves && ++others <= kShown)) text += effect_line(s, e);
    }
  }
  return text + '\n';
}

nlohmann::json json_of(const Sensitivity& s) {
  nlohmann::json all = nlohmann::json::array();
  for (const lab::SensitiveRow& row : s.rows) {
    for (const lab::RowEffect& e : row.effects) {
      const lab::Perturbation& p = s.perturbations[e.perturbation];
      nlohmann::json out{{"experiment", s.plan->id},
                         {"id", row.claim},
                         {"row", row.row->name},
                         {"profile", p.profile},
                         {"parameter", p.field.info().key},
                         {"of", p.field.is_of_profile() ? "profile" : "workload"},
                         {"usual", number_of(p.field.info(), p.usual)},
                         {"value", number_of(p.field.info(), p.value)},
                         {"verdict", verdict_text(row.verdict)},
                         {"becomes", verdict_text(e.verdict)},
                         {"flips", row.flips(e)},
                         {"measured", nullptr},
                         {"measured_then", nullptr}};
      if (row.measured) {
        out["measured"] = row.measured->mean;
        out["seeds"] = row.measured->count;
        out["seeds_met"] = row.met;
      }
      if (e.measured) {
        out["measured_then"] = e.measured->mean;
        out["seeds_met_then"] = e.met;
      }
      all.push_back(std::move(out));
    }
  }
  return all;
}

bool write_charts(const std::vector<Sensitivity>& all, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path path = std::filesystem::path(folder) / "sensitivity.html";
  if (!write_file(path, lab::sensitivity_page(all))) return false;
  fmt::print(stderr, "report: {}\n", path.string());
  return true;
}

}  // namespace

int run_sensitivity(const std::vector<lab::Plan>& plans, const SensitivityWish& wish,
                    const ExperimentOptions& options) {
  if (!options.csv.empty()) return usage_error("--sensitivity writes no --csv; --json has all of it");
  lab::SensitivityOptions sensitivity;
  if (!wish.part.empty()) {
    const auto parts = lab::split_unit(wish.part);
    const auto part = parts ? lab::in_base_unit(lab::Kind::fraction, parts->number, parts->unit) : std::nullopt;
    if (!part || *part <= 0 || *part >= 1) {
      return usage_error(fmt::format("--part: '{}' is no part between 0 and 1, or 0 % and 100 %", wish.part));
    }
    sensitivity.part = *part;
  }
  for (const std::string& text : wish.ranges) {
    auto range = range_of(text);
    if (!range) return usage_error(range.error());
    sensitivity.ranges.push_back(*range);
  }
  for (const std::string& key : wish.only) {
    if (lab::find_setting_field(key)) continue;
    return usage_error(
        fmt::format("--only: there is no '{}'.{}", key, lab::did_you_mean(key, lab::all_setting_keys())));
  }
  sensitivity.only = wish.only;
  say_unused(options.profiles, plans);
  const auto common = common_options(options);
  if (!common) return usage_error(common.error());
  sensitivity.extent = options.quick ? lab::Extent::quick : lab::Extent::full;
  sensitivity.seed = common->seed;
  sensitivity.sweep.jobs = common->jobs;
  std::vector<Sensitivity> all;
  {
    const ProgressLine line;
    sensitivity.sweep.on_progress = [&line](const lab::Progress& p) { line.show(p); };
    for (const lab::Plan& plan : plans) {
      if (plan.series.empty() || plan.claims.empty()) continue;
      sensitivity.seeds = common->seeds.value_or(usual_seeds(plan, options.quick));
      all.push_back(lab::sensitivity_of(plan, sensitivity));
    }
  }
  if (options.json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Sensitivity& s : all) {
      for (nlohmann::json& row : json_of(s)) rows.push_back(std::move(row));
    }
    fmt::print("{}\n", rows.dump(2));
  } else {
    for (const Sensitivity& s : all) fmt::print("{}", sensitivity_text(s));
  }
  return options.report.empty() || write_charts(all, options.report) ? kOk : kFailed;
}

}  // namespace weft::cli
