// Results for programs: JSON and CSV.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/experiment/output.h"
#include "lab/csv_cell.h"
#include "lab/judge.h"
#include "lab/metrics.h"

namespace weft::cli {
namespace {

using lab::Study;
using lab::Verdict;

nlohmann::json head_of(const Study& study, const lab::JudgedClaim& judged) {
  nlohmann::json head{{"experiment", study.plan->id},
                      {"id", judged.claim->id},
                      {"source", judged.claim->source},
                      {"extent", study.extent == lab::Extent::quick ? "quick" : "full"},
                      {"seed", nullptr},
                      {"seeds", study.samples.size()}};
  if (!study.points.empty()) head["seed"] = study.points.front().setting.seed;
  return head;
}

nlohmann::json judged_row(const lab::JudgedRow& judged, nlohmann::json out) {
  const lab::ClaimRow& row = *judged.row;
  out["row"] = row.name;
  out["claimed"] = std::strtod(row.claimed.c_str(), nullptr);
  out["measured"] = nullptr;
  if (judged.measured) {
    out["measured"] = judged.measured->mean;
    out["interval"] = judged.measured->half;
    out["least"] = judged.measured->least;
    out["most"] = judged.measured->most;
    out["met"] = judged.met;
    out["of"] = judged.measured->count;
  }
  out["kind"] = kind_text(judged.kind);
  out["unit"] = row.unit;
  out["band"] = row.band_text;
  out["value"] = row.value;
  out["verdict"] = verdict_text(judged.verdict);
  out["recorded"] = verdict_text(judged.recorded());
  if (!row.why.empty()) out["why"] = row.why;
  if (!judged.failure.empty()) out["failure"] = judged.failure;
  return out;
}

// Behind several rows, one for all of them.
nlohmann::json whole_of(const lab::JudgedClaim& judged, nlohmann::json out) {
  const std::size_t missed = judged.count(Verdict::missed);
  out["row"] = nullptr;
  out["claimed"] = judged.rows.size();
  out["measured"] = judged.rows.size() - missed;
  out["unit"] = "rows";
  out["band"] = "every row";
  out["verdict"] = verdict_text(judged.verdict());
  out["recorded"] = verdict_text(judged.recorded());
  return out;
}

nlohmann::json absent_of(const lab::JudgedClaim& judged, nlohmann::json out) {
  out["row"] = nullptr;
  out["verdict"] = out["recorded"] = verdict_text(Verdict::absent);
  out["why"] = judged.claim->absent;
  return out;
}

// Whatever any of them sweeps, a column each.
std::vector<std::string> axes_of(const std::vector<Study>& studies) {
  std::vector<std::string> all;
  for (const Study& study : studies) {
    for (const lab::Axis& axis : study.plan->axes) {
      if (std::find(all.begin(), all.end(), axis.key) == all.end()) all.push_back(axis.key);
    }
  }
  return all;
}

// x of each axis; nothing for those that this study does not have.
std::string where_cells(const Study& study, const lab::Point& point, const std::vector<std::string>& axes) {
  std::string text;
  for (const std::string& key : axes) {
    text += ',';
    for (std::size_t i = 0; i < point.at.size(); ++i) {
      if (study.plan->axes[i].key == key) text += lab::number_text(point.at[i], 10);
    }
  }
  return text;
}

}  // namespace

std::string verdicts_json(const std::vector<Study>& studies) {
  nlohmann::json all = nlohmann::json::array();
  for (const Study& study : studies) {
    for (const auto& judged : judge(study)) {
      const nlohmann::json head = head_of(study, judged);
      for (const auto& row : judged.rows) all.push_back(judged_row(row, head));
      if (judged.rows.size() > 1) all.push_back(whole_of(judged, head));
      if (!judged.claim->absent.empty()) all.push_back(absent_of(judged, head));
    }
  }
  return all.dump(2) + '\n';
}

std::string points_csv(const std::vector<Study>& studies) {
  const std::vector<std::string> axes = axes_of(studies);
  std::string text = "experiment,series,profile";
  for (const std::string& key : axes) text += "," + lab::csv_cell(key);
  text += ",seed,metric,unit,value,failure\n";
  for (const Study& study : studies) {
    for (const lab::Sample& sample : study.samples) {
      for (std::size_t i = 0; i < study.points.size(); ++i) {
        const lab::Point& point = study.points[i];
        const std::string head =
            fmt::format("{},{},{}{},{}", lab::csv_cell(study.plan->id),
                        lab::csv_cell(study.plan->series[point.series].name), lab::csv_cell(point.setting.profile.name),
                        where_cells(study, point, axes), point.setting.seed + sample.number);
        const lab::PointResult& result = sample.results[i];
        if (!result.failure.empty()) text += fmt::format("{},,,,{}\n", head, lab::csv_cell(result.failure));
        for (const lab::Metric& metric : lab::kMetrics) {
          const auto value = metric_of(result, metric.name);
          if (value) text += fmt::format("{},{},{},{},\n", head, metric.name, metric.unit, *value);
        }
      }
    }
  }
  return text;
}

}  // namespace weft::cli
