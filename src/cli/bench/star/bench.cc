#include "cli/bench/star/bench.h"

#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/bench/connections/reading.h"
#include "cli/bench/job.h"
#include "cli/bench/star/table.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

constexpr int kSetUpSeconds = 300;  // for one run, beyond the time that it measures: connections take time to make

std::filesystem::path star_program_beside(const std::string& weft) {
  return std::filesystem::path(weft).parent_path() / "weft-connections";
}

tl::expected<LoadReading, std::string> measure_star(const StarBench& bench, std::uint32_t connections, StarWay way) {
  std::vector<std::string> words = words_of(bench, connections, way);
  for (std::string& w : words) {
    if (w == "weft-connections") w = star_program_beside(bench.weft).string();
  }
  words.insert(words.begin(), bench.weft);
  words.insert(words.begin() + 2, {"--addr", bench.address});
  const int limit = kSetUpSeconds + static_cast<int>(bench.milliseconds / 1000 * 3);
  const Ended ended = run_alone({words}, limit);
  if (ended.status < 0) return tl::unexpected(fmt::format("it did not end within {} s, or a signal ended it", limit));
  if (ended.status != 0) return tl::unexpected(reason_in(ended.output));
  return read_load(ended.output);
}

void add_reading(StarCell& cell, const tl::expected<LoadReading, std::string>& read) {
  if (!read) cell.failure = read.error();
  cell.rate.add(read ? std::optional(read->messages_per_second) : std::nullopt);
  if (!read) return;
  cell.median_us.add(read->median_us);
  cell.p99_us.add(read->p99_us);
}

}  // namespace

CLI::App& add_star_bench(CLI::App& bench, StarBench& options) {
  CLI::App& app = *bench.add_subcommand(
      "star", "A server with up to 100 000 connections: stateless in StaR, beside roce and srnic");
  app.add_option("--qps", options.qps, "Numbers of connections")
      ->delimiter(',')
      ->type_name("LIST")
      ->check(CLI::Range(1U, 131072U));
  app.add_option("--wire", options.wire, "Shared memory or UDP")->check(CLI::IsMember({"shm", "udp"}));
  app.add_option("--verb", options.verb, "What the server does to its clients' memory, 32 bytes at a time")
      ->check(CLI::IsMember({"write", "read"}));
  app.add_option("--clients", options.clients, "Programs that have the connections among them")
      ->type_name("N")
      ->check(CLI::Range(1U, 64U));
  app.add_option("--rounds", options.rounds, "Every point is measured so often; medians are shown")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--milliseconds", options.milliseconds, "Every point is measured for so long, each time")
      ->type_name("N")
      ->check(CLI::Range(1U, 600'000U));
  app.add_flag("--json", options.json, "Rows and verdicts");
  return app;
}

int run_star_bench(const StarBench& bench) {
  const std::string program = star_program_beside(bench.weft).string();
  if (!is_installed(program)) return usage_error(fmt::format("there is no {}: build it", program));
  const bool shown = isatty(STDERR_FILENO) == 1;
  StarTable table;
  for (const std::uint32_t n : bench.qps) table.rows.emplace_back().connections = n;
  for (unsigned round = 0; round < bench.rounds; ++round) {
    for (StarTable::Row& row : table.rows) {
      for (std::size_t w = 0; w < row.ways.size(); ++w) {
        if (shown) {
          fmt::print(stderr, "\r\033[Kround {} of {}: {} connections, {}", round + 1, bench.rounds, row.connections,
                     kStarWays[w]);
        }
        add_reading(row.ways[w], measure_star(bench, row.connections, static_cast<StarWay>(w)));
      }
    }
  }
  if (shown) fmt::print(stderr, "\r\033[K");
  fmt::print("{}", bench.json ? star_json(bench, table) : star_text(bench, table));
  for (const StarTable::Row& row : table.rows) {
    for (const StarCell& cell : row.ways) {
      if (cell.rate.median()) return kOk;
    }
  }
  return kFailed;
}

}  // namespace weft::cli
