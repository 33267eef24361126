// weft bench: this card beside what one would use instead, in one run: interleaved, medians, ratios first.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/bench/connections/bench.h"
#include "cli/bench/loss.h"
#include "cli/bench/measure.h"
#include "cli/bench/number_json.h"
#include "cli/bench/samples.h"
#include "cli/bench/side_by_side.h"
#include "cli/bench/star/bench.h"
#include "cli/bench/strom/bench.h"
#include "cli/commands.h"

namespace weft::cli {
namespace {

struct BenchOptions {
  bool peers = false, json = false;
  unsigned rounds = 5;
  std::string address = "127.0.0.1", only;
};

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

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

int run_bench(const BenchOptions& options) {
  const BenchPlace place{own_path(), options.address};
  std::vector<Measure> measures = own_measures(place);
  if (options.peers) std::ranges::move(peer_measures(place), std::back_inserter(measures));
  std::vector<BenchRow> rows;
  for (Measure& m : side_by_side(std::move(measures))) {
    if (options.only.empty() || m.name.find(options.only) != std::string::npos) rows.push_back({std::move(m), {}});
  }
  if (rows.empty()) return usage_error(fmt::format("nothing here is called '{}'", options.only));
  run_rounds(rows, options.rounds);
  options.json ? print_bench_json(rows) : print_bench_text(rows);
  const bool any =
      std::any_of(rows.begin(), rows.end(), [](const BenchRow& r) { return r.samples.median().has_value(); });
  return any ? kOk : kFailed;
}

}  // namespace

Command add_bench(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("bench", "Measure this card, and with --peers what one would use instead");
  auto options = std::make_shared<BenchOptions>();
  app.add_flag("--peers", options->peers,
               "Also iperf3, sockperf, UCX, libfabric and a bare UDP stream, in turn with ours");
  app.add_flag("--json", options->json, "Rows of name, value, unit, beside, ratio");
  app.add_option("--rounds", options->rounds, "Every row is measured so often; medians are shown")
      ->type_name("N")
      ->default_str("5")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--addr", options->address, "Where the programs meet")->type_name("ADDRESS")->default_str("127.0.0.1");
  auto loss = std::make_shared<LossBench>();
  CLI::App& lossy = *app.add_subcommand("loss", "Goodput at 0 to 5 % packet loss, srnic beside go-back-N, over UDP");
  lossy.add_flag("--json", loss->json, "Rows of loss, transport, value, of_lossless; and verdicts");
  lossy.add_option("--rounds", loss->rounds, "Every cell is measured so often; medians are shown")
      ->type_name("N")
      ->default_str("5")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--only", options->only, "Only rows whose name contains this")->type_name("TEXT");
  auto load = std::make_shared<LoadBench>();
  const CLI::App& loaded = add_load_bench(app, *load);
  auto star = std::make_shared<StarBench>();
  const CLI::App& stateless = add_star_bench(app, *star);
  auto strom = std::make_shared<StromBench>();
  const CLI::App& kernels = add_strom_bench(app, *strom);
  // What all of them are told.
  const auto prepared = [options](auto& bench) -> auto& {
    bench.weft = own_path();
    bench.address = options->address;
    bench.json = bench.json || options->json;
    return bench;
  };
  const auto chosen = [=, &lossy, &loaded, &stateless, &kernels] {
    if (kernels.parsed()) return run_strom_bench(prepared(*strom));
    if (stateless.parsed()) return run_star_bench(prepared(*star));
    if (loaded.parsed()) return run_load_bench(prepared(*load));
    return lossy.parsed() ? run_loss_bench(prepared(*loss)) : run_bench(*options);
  };
  return {.app = &app, .run = chosen};
}

}  // namespace weft::cli
