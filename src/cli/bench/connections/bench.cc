#include "cli/bench/connections/bench.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/bench/connections/output.h"
#include "cli/bench/connections/plan.h"
#include "cli/bench/job.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

constexpr int kPointSeconds = 60;  // for one run, beyond the time that it measures

std::filesystem::path program_beside(const std::string& weft) {
  return std::filesystem::path(weft).parent_path() / "weft-connections";
}

tl::expected<LoadReading, std::string> measure_point(const LoadBench& bench, const LoadTable& table,
                                                     const LoadPoint& point, const std::string& loss, unsigned round) {
  std::vector<std::string> words = words_of(point, loss, round, table.milliseconds);
  for (std::string& w : words) {
    if (w == "weft-connections") w = program_beside(bench.weft).string();
  }
  words.insert(words.begin(), bench.weft);
  words.insert(words.begin() + 2, {"--addr", bench.address});
  const int limit = kPointSeconds + static_cast<int>(table.milliseconds / 1000 * 3);
  const Ended ended = run_alone({words}, limit);
  if (ended.status < 0) return tl::unexpected(fmt::format("it did not end within {} s, or a signal ended it", limit));
  if (ended.status != 0) return tl::unexpected(reason_in(ended.output));
  return read_load(ended.output);
}

void run_round(const LoadBench& bench, LoadTable& table, unsigned round, unsigned rounds) {
  const bool shown = isatty(STDERR_FILENO) == 1;
  const auto fill = [&](LoadCell& cell, const char* loss) {
    if (shown) fmt::print(stderr, "\r\033[Kround {} of {}: {}", round + 1, rounds, text_of(cell.point));
    cell.add(measure_point(bench, table, cell.point, loss, round));
  };
  for (LoadCell& cell : table.cells) fill(cell, "0");
  for (LoadTable::Lossy& l : table.losses) {
    fill(l.lossless, "0");
    fill(l.lossy, "1%");
  }
  if (shown) fmt::print(stderr, "\r\033[K");
}

bool write_page(const LoadTable& table, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path path = std::filesystem::path(folder) / "connections.html";
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << load_page(table);
  file.close();
  fmt::print(stderr, "{}{}\n", file ? "report: " : "weft: cannot write ", path.string());
  return static_cast<bool>(file);
}

bool any_ran(const LoadTable& table) {
  for (const LoadCell& cell : table.cells) {
    if (cell.rate.median()) return true;
  }
  return false;
}

}  // namespace

CLI::App& add_load_bench(CLI::App& bench, LoadBench& options) {
  CLI::App& app = *bench.add_subcommand(
      "connections", "Rates of 1 to 10 000 connections that are kept busy as perftest does, srnic beside roce");
  const auto names = [&](const char* name, std::vector<std::string>& into, std::vector<std::string> all,
                         const char* what) {
    app.add_option(name, into, what)->delimiter(',')->type_name("LIST")->check(CLI::IsMember(std::move(all)));
  };
  names("--verb", options.verbs, {"send", "write"}, "SENDs of 512 bytes, WRITEs of 64 KB");
  names("--wire", options.wires, {"shm", "udp"}, "Shared memory, UDP");
  names("--transport", options.transports, {"srnic", "roce"}, "The dialects of a reliable connection");
  app.add_option("--depth", options.depths, "Requests that each connection keeps under way: 1,16,128")
      ->delimiter(',')
      ->type_name("LIST")
      ->check(CLI::Range(1U, 1024U));
  app.add_option("--qps", options.qps, "Numbers of connections: 1,16,128,1024,10000")
      ->delimiter(',')
      ->type_name("LIST")
      ->check(CLI::Range(1U, 131072U));
  app.add_option("--rounds", options.rounds, "Every point is measured so often; medians are shown")
      ->type_name("N")
      ->default_str("3")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--milliseconds", options.milliseconds, "Every point is measured for so long, each time")
      ->type_name("N")
      ->default_str("1000")
      ->check(CLI::Range(1U, 600'000U));
  app.add_flag("--quick", options.quick, "SENDs over srnic at a few points, one short round");
  app.add_flag("--json", options.json, "Rows and verdicts");
  app.add_option("--report", options.report, "Write a page with pictures to connections.html in this folder")
      ->type_name("DIR");
  return app;
}

int run_load_bench(const LoadBench& bench) {
  if (!is_installed(program_beside(bench.weft).string())) {
    return usage_error(fmt::format("there is no {}: build it", program_beside(bench.weft).string()));
  }
  LoadPlan plan = plan_of(bench);
  for (unsigned round = 0; round < plan.rounds; ++round) run_round(bench, plan.table, round, plan.rounds);
  fmt::print("{}", bench.json ? load_json(plan.table) : load_text(plan.table));
  const bool written = bench.report.empty() || write_page(plan.table, bench.report);
  return written && any_ran(plan.table) ? kOk : kFailed;
}

}  // namespace weft::cli
