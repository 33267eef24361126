#include "cli/bench/rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/bench/number_json.h"
#include "cli/bench/samples.h"
#include "cli/bench/side_by_side.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

struct BenchRow {
  Measure measure;
  Samples samples;
};

void run_rounds(std::vector<BenchRow>& rows, unsigned rounds) {
  const bool shown = isatty(STDERR_FILENO) == 1;
  for (unsigned round = 0; round < rounds; ++round) {
    for (BenchRow& row : rows) {
      if (shown) fmt::print(stderr, "\r\033[Kround {} of {}: {}", round + 1, rounds, row.measure.name);
      row.samples.add(row.measure.run());
    }
  }
  if (shown) fmt::print(stderr, "\r\033[K");
}

std::optional<double> ratio_of(const BenchRow& row, const std::string& beside, const std::vector<BenchRow>& rows) {
  const auto other =
      std::find_if(rows.begin(), rows.end(), [&](const BenchRow& r) { return r.measure.name == beside; });
  return other == rows.end() ? std::nullopt : Samples::ratio(row.samples, other->samples);
}

void print_bench_json(const std::vector<BenchRow>& rows) {
  nlohmann::json out = nlohmann::json::array();
  for (const BenchRow& row : rows) {
    const nlohmann::json facts{{"name", row.measure.name},   {"value", number_or_null(row.samples.median())},
                               {"unit", row.measure.unit},   {"beside", nullptr},
                               {"ratio", nullptr},           {"runs", row.samples.values().size()},
                               {"command", row.measure.what}};
    if (row.measure.besides.empty()) out.push_back(facts);
    for (const Measure::Beside& beside : row.measure.besides) {
      out.push_back(facts);
      out.back()["beside"] = beside.name;
      out.back()["ratio"] = number_or_null(ratio_of(row, beside.name, rows));
    }
  }
  fmt::print("{}\n", out.dump(2));
}

void print_bench_text(const std::vector<BenchRow>& rows) {
  for (const BenchRow& row : rows) {
    if (const auto value = row.samples.median(); value && row.measure.floor > 0) {
      fmt::print("{:>6.2f} {:<26} {:<24} {} (at least {})\n", *value, row.measure.unit, row.measure.name,
                 *value >= row.measure.floor ? "met" : "MISSED", row.measure.floor);
    }
    for (const Measure::Beside& beside : row.measure.besides) {
      const auto ratio = ratio_of(row, beside.name, rows);
      if (!ratio) continue;
      const bool less = row.measure.less_is_better, met = less ? *ratio <= beside.floor : *ratio >= beside.floor;
      fmt::print("{:>6.2f} x {:<24} {:<24} {} ({} {})\n", *ratio, beside.name, row.measure.name, met ? "met" : "MISSED",
                 less ? "at most" : "at least", beside.floor);
    }
  }
  fmt::print("\n");
  for (const BenchRow& row : rows) {
    const auto value = row.samples.median();
    const std::string shown = value ? fmt::format("{:>10.2f}", *value) : fmt::format("{:>10}", "-");
    fmt::print("{:<26} {} {:<5} {}{}\n", row.measure.name, shown, row.measure.unit, row.measure.what,
               value ? "" : "   (did not run: is it installed?)");
  }
}

}  // namespace

int measure_and_print(std::vector<Measure> measures, const RowOptions& options) {
  std::vector<BenchRow> rows;
  for (Measure& m : side_by_side(std::move(measures))) {
    if (m.name.find(options.only) != std::string::npos) rows.push_back({std::move(m), {}});
  }
  if (rows.empty()) return usage_error(fmt::format("nothing here is called '{}'", options.only));
  run_rounds(rows, options.rounds);
  options.json ? print_bench_json(rows) : print_bench_text(rows);
  const bool any =
      std::any_of(rows.begin(), rows.end(), [](const BenchRow& r) { return r.samples.median().has_value(); });
  return any ? kOk : kFailed;
}

}  // namespace weft::cli
