#include "lab/sensitivity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <set>

#include "lab/expression.h"
#include "lab/validate.h"

namespace weft::lab {
namespace {

bool is_same(const SettingField& a, const SettingField& b) {
  return a.is_of_profile() == b.is_of_profile() && a.info().key == b.info().key;
}

bool is_a_number(const FieldInfo& f) { return f.kind != Kind::truth && f.kind != Kind::choice; }
// What a card speaks, and whether it has queues in host memory, is what it is; that testbeds run without congestion
// control is what plans say.
bool is_what_it_is(std::string_view key) { return key == "dialect" || key == "congestion" || key == "posts_on_chip"; }

// What papers tend to leave open of a workload. What they say (bytes, queue pairs, loss) is the claim itself.
bool is_open(std::string_view key) {
  constexpr std::array<std::string_view, 6> kOpen{"link_delay",    "threads",      "depth",
                                                  "receive_depth", "signal_every", "ack_timeout"};
  return std::find(kOpen.begin(), kOpen.end(), key) != kOpen.end();
}

// A part of it away, within what it may be; a count by one at least.
double moved(const FieldInfo& f, double usual, double part) {
  double to = usual * (1 + part);
  if (f.kind == Kind::count || f.kind == Kind::size) {
    to = std::round(to);
    if (to == usual) to += part > 0 ? 1 : -1;
  }
  return std::clamp(to, f.least, f.most);
}

// What else it is tried with.
std::vector<double> others(const FieldInfo& f, double usual, double part) {
  std::vector<double> values;
  if (is_a_number(f)) {
    if (usual != 0) values = {moved(f, usual, -part), moved(f, usual, part)};
  } else if (!is_what_it_is(f.key)) {
    for (double value = f.least; value <= f.most; ++value) values.push_back(value);
  }
  std::erase(values, usual);
  return values;
}

// Only the lines that rows of claims are about.
Plan what_is_claimed(Plan plan) {
  std::erase_if(plan.series, [&](const Series& series) {
    return std::none_of(plan.claims.begin(), plan.claims.end(), [&](const Claim& claim) {
      return std::any_of(claim.rows.begin(), claim.rows.end(),
                         [&](const ClaimRow& row) { return mentions(row.value, series.name); });
    });
  });
  plan.plots.clear();  // they number the lines
  return plan;
}

Plan with(const Plan& plan, const Perturbation& p) {
  Plan out = plan;
  for (Series& series : out.series) {
    if (series.setting.profile.name != p.profile) continue;
    const bool own = std::any_of(series.changes.begin(), series.changes.end(),
                                 [&](const Override& change) { return is_same(change.field, p.field); });
    if (!own) p.field.set(series.setting, p.value);
  }
  return out;
}

// Settings that make no sense are no runs.
std::string nonsense(const std::vector<Point>& points) {
  for (const Point& point : points) {
    if (std::string reason = validate(point.setting); !reason.empty()) return reason;
  }
  return {};
}

// How far a number has moved, as a part of what it was.
double moved_by(const SensitiveRow& row, const RowEffect& effect) {
  if (!row.measured || !effect.measured) return 1e9;
  const double scale = std::max(std::abs(row.measured->mean), 1e-12);
  return std::abs(effect.measured->mean - row.measured->mean) / scale;
}

void rank(SensitiveRow& row) {
  std::stable_sort(row.effects.begin(), row.effects.end(), [&](const RowEffect& a, const RowEffect& b) {
    if (row.flips(a) != row.flips(b)) return row.flips(a);
    return moved_by(row, a) > moved_by(row, b);
  });
}

std::vector<Sample> samples(std::size_t count) {
  std::vector<Sample> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i].number = i;
  return all;
}

}  // namespace

std::vector<Perturbation> perturbations_of(const Plan& plan, double part, const std::vector<OwnRange>& ranges) {
  std::vector<Perturbation> all;
  std::set<std::string> seen;
  for (const Series& series : plan.series) {
    const std::string& profile = series.setting.profile.name;
    if (!seen.insert(profile).second) continue;
    for (const SettingField& field : all_setting_fields()) {
      const double usual = field.get(series.setting);
      const auto own =
          std::find_if(ranges.begin(), ranges.end(), [&](const OwnRange& r) { return is_same(r.field, field); });
      if (own == ranges.end() && !field.is_of_profile() && !is_open(field.info().key)) continue;
      const std::vector<double> values =
          own != ranges.end() ? std::vector{own->least, own->most} : others(field.info(), usual, part);
      for (const double value : values) {
        if (value != usual) all.push_back({.profile = profile, .field = field, .usual = usual, .value = value});
      }
    }
  }
  return all;
}

Sensitivity sensitivity_of(const Plan& plan, const SensitivityOptions& options) {
  const Plan claimed = what_is_claimed(plan);
  Sensitivity out{.plan = &plan, .perturbations = perturbations_of(claimed, options.part, options.ranges), .rows = {}};
  std::erase_if(out.perturbations, [&](const Perturbation& p) {
    return !options.only.empty() &&
           std::find(options.only.begin(), options.only.end(), p.field.info().key) == options.only.end();
  });
  std::deque<Plan> plans{claimed};  // the first as it is; studies point at them
  for (const Perturbation& p : out.perturbations) plans.push_back(with(claimed, p));
  std::vector<Study> studies;
  std::vector<std::string> refused;
  for (const Plan& p : plans) {
    std::vector<Point> points = points_of(p, options.extent, options.seed);
    refused.push_back(nonsense(points));
    if (!refused.back().empty()) points.clear();
    studies.push_back(
        {.plan = &p, .extent = options.extent, .points = std::move(points), .samples = samples(options.seeds)});
  }
  run_studies(studies, options.sweep);

  const auto usual = judge(studies.front());
  for (std::size_t c = 0; c < usual.size(); ++c) {
    for (std::size_t r = 0; r < usual[c].rows.size(); ++r) {
      const JudgedRow& row = usual[c].rows[r];
      if (row.kind != RowKind::simulated) continue;
      // Pointers go into the caller's plan, which outlives the result.
      const auto& rows = plan.claims[c].rows;
      const auto same =
          std::find_if(rows.begin(), rows.end(), [&](const ClaimRow& x) { return x.name == row.row->name; });
      out.rows.push_back({.claim = plan.claims[c].id,
                          .row = &*same,
                          .measured = row.measured,
                          .met = row.met,
                          .verdict = row.verdict,
                          .effects = {}});
      for (std::size_t i = 0; i < out.perturbations.size(); ++i) {
        if (!refused[i + 1].empty()) continue;
        const JudgedRow changed = judge(studies[i + 1])[c].rows[r];
        out.rows.back().effects.push_back({.perturbation = i,
                                           .measured = changed.measured,
                                           .met = changed.met,
                                           .verdict = changed.verdict,
                                           .failure = changed.failure});
      }
      rank(out.rows.back());
    }
  }
  return out;
}

}  // namespace weft::lab
