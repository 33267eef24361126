#include "cli/bench/strom/bench.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/bench/job.h"
#include "cli/bench/number_json.h"
#include "cli/bench/number_text.h"
#include "cli/bench/samples.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

constexpr int kStromSeconds = 60;  // for one run, beyond the time that it measures
constexpr std::array kStromWays{"kernel", "bytecode", "reads", "tcp"};

struct StromCell {
  Samples rate, median_us, p99_us;
};
struct StromRow {
  std::uint32_t clients = 0;
  std::array<StromCell, kStromWays.size()> ways{};
};

// Both sides know how many keys there are. Their objects are to fit into so many bytes: the server is to be ready soon.
constexpr std::uint32_t kStoreBytes = 32U << 20, kMostKeys = 100'000;
std::uint32_t keys_in(const StromBench& bench) { return std::min(kMostKeys, kStoreBytes / (bench.value_bytes + 128)); }

std::string strom_program(const std::string& weft, const char* name) {
  return (std::filesystem::path(weft).parent_path() / name).string();
}
std::string store_beside(const std::string& weft) { return strom_program(weft, "weft-kv"); }

// The kernel that clients bring along, compiled with the build where clang-14 and DPDK are. Empty: they have none.
std::string object_beside(const std::string& weft) {
  const std::filesystem::path object = std::filesystem::path(weft).parent_path() / "../share/weft/get.o";
  return std::filesystem::exists(object) ? object.string() : std::string();
}

std::vector<std::string> store_words(const StromBench& bench, const char* what) {
  return {bench.weft,
          "run",
          "--wire",
          bench.wire,
          "--addr",
          bench.address,
          "--",
          store_beside(bench.weft),
          what,
          "--address",
          bench.address,
          "--bytes",
          std::to_string(bench.value_bytes),
          "--keys",
          std::to_string(keys_in(bench))};
}

std::vector<std::string> get_words(const StromBench& bench, std::uint32_t clients, const char* way) {
  std::vector<std::string> words = store_words(bench, "get");
  if (way == std::string_view("bytecode")) words.insert(words.end(), {"--object", object_beside(bench.weft)});
  words.insert(words.end(), {"--by", way, "--clients", std::to_string(clients), "--milliseconds",
                             std::to_string(bench.milliseconds), "--json", "yes"});
  return words;
}

void measure_get(const StromBench& bench, std::uint32_t clients, const char* way, StromCell& cell) {
  const int limit = kStromSeconds + static_cast<int>(bench.milliseconds / 1000 * 2);
  std::vector<std::string> serving = store_words(bench, "serve");
  if (way == std::string_view("bytecode")) serving.insert(serving.end(), {"--deploy", "yes"});
  const auto output = run_pair({serving}, {get_words(bench, clients, way)}, limit);
  const nlohmann::json said = output ? nlohmann::json::parse(*output, nullptr, false) : nlohmann::json();
  const auto number = [&](const char* name) -> std::optional<double> {
    return said.is_object() && said.contains(name) ? std::optional(said[name].get<double>()) : std::nullopt;
  };
  cell.rate.add(number("rate"));
  cell.median_us.add(number("median_us"));
  cell.p99_us.add(number("p99_us"));
}

// A way that a stream takes, beside plain WRITEs: the median of the rounds' ratios.
struct StreamWay {
  std::string name;
  double megabytes = 0, of_write = 0;  // of a second
};

// They take their turns within one program, which says a line of each.
std::vector<StreamWay> measure_streams(const StromBench& bench) {
  constexpr std::uint32_t kMostMilliseconds = 60'000, kMessage = 64 << 10, kMostWays = 20;
  const std::uint32_t each = std::min(bench.milliseconds, kMostMilliseconds);
  const Ended ended = run_alone({{bench.weft, "run", "--wire", bench.wire, "--addr", bench.address, "--",
                                  strom_program(bench.weft, "weft-streams"), std::to_string(bench.rounds),
                                  std::to_string(each), std::to_string(kMessage)}},
                                kStromSeconds + static_cast<int>(bench.rounds * kMostWays * (each / 1000 + 1)));
  std::vector<StreamWay> ways;
  if (ended.status != 0) {
    fmt::print(stderr, "{}", ended.output);
    return ways;
  }
  std::istringstream lines(ended.output);
  for (std::string line; std::getline(lines, line);) {
    char name[32];
    StreamWay way;
    if (std::sscanf(line.c_str(), "%31s %lf MB/s %lf of write", name, &way.megabytes, &way.of_write) != 3) continue;
    way.name = name;
    ways.push_back(way);
  }
  return ways;
}

void print_streams_text(const std::vector<StreamWay>& ways) {
  fmt::print("\n{:<12}  {:>8}  {:>8}\n", "stream", "MB/s", "of write");
  for (const StreamWay& w : ways) fmt::print("{:<12}  {:>8.0f}  {:>8.2f}\n", w.name, w.megabytes, w.of_write);
}

void print_strom_text(const StromBench& bench, const std::vector<StromRow>& rows) {
  fmt::print("weft run --wire {} -- weft-kv get --bytes {}\n\n", bench.wire, bench.value_bytes);
  fmt::print("{:>8}  {:<8}  {:>12}  {:>10}  {:>9}  {:>15}  {:>13}\n", "clients", "GET by", "GETs/s", "median us",
             "p99 us", "rate, of kernel", "median of it");
  for (const StromRow& row : rows) {
    for (std::size_t w = 0; w < kStromWays.size(); ++w) {
      const StromCell& cell = row.ways[w];
      const auto rate = cell.rate.median();
      fmt::print("{:>8}  {:<8}  {:>12}  {:>10}  {:>9}  {:>15}  {:>13}\n", row.clients, kStromWays[w],
                 rate ? fmt::format("{:.0f}", *rate) : "-", number_text(cell.median_us.median()),
                 number_text(cell.p99_us.median()), number_text(Samples::ratio(cell.rate, row.ways[0].rate)),
                 number_text(Samples::ratio(cell.median_us, row.ways[0].median_us)));
    }
  }
}

void print_strom_json(const std::vector<StromRow>& rows, const std::vector<StreamWay>& streams) {
  nlohmann::json out = nlohmann::json::array();
  for (const StromRow& row : rows) {
    for (std::size_t w = 0; w < kStromWays.size(); ++w) {
      const StromCell& cell = row.ways[w];
      out.push_back({{"clients", row.clients},
                     {"by", kStromWays[w]},
                     {"rate", number_or_null(cell.rate.median())},
                     {"median_us", number_or_null(cell.median_us.median())},
                     {"p99_us", number_or_null(cell.p99_us.median())},
                     {"runs", cell.rate.values().size()},
                     {"rate_of_kernel", number_or_null(Samples::ratio(cell.rate, row.ways[0].rate))},
                     {"median_of_kernel", number_or_null(Samples::ratio(cell.median_us, row.ways[0].median_us))}});
    }
  }
  for (const StreamWay& w : streams) {
    out.push_back({{"stream", w.name}, {"megabytes", w.megabytes}, {"of_write", w.of_write}});
  }
  fmt::print("{}\n", out.dump(2));
}

}  // namespace

CLI::App& add_strom_bench(CLI::App& bench, StromBench& options) {
  CLI::App& app = *bench.add_subcommand(
      "strom", "Kernels on a card: GET by one, beside bytecode, READs and TCP; streams through them, beside WRITEs");
  app.add_option("--clients", options.clients, "Numbers of clients, each with one GET under way")
      ->delimiter(',')
      ->type_name("LIST")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--wire", options.wire, "Shared memory or UDP")->check(CLI::IsMember({"shm", "udp"}));
  app.add_option("--bytes", options.value_bytes, "Of a value")->type_name("N")->check(CLI::Range(1U, 32'768U));
  app.add_option("--rounds", options.rounds, "Every point is measured so often; medians are shown")
      ->type_name("N")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--milliseconds", options.milliseconds, "Every point is measured for so long, each time")
      ->type_name("N")
      ->check(CLI::Range(1U, 600'000U));
  app.add_flag("--json", options.json,
               "Rows of clients, by, rate, median_us, p99_us and ratios; and of stream, megabytes, of_write");
  return app;
}

int run_strom_bench(const StromBench& bench) {
  const std::string store = store_beside(bench.weft);
  for (const std::string& program : {store, strom_program(bench.weft, "weft-streams")}) {
    if (!is_installed(program)) return usage_error(fmt::format("there is no {}: build it (make all)", program));
  }
  const bool has_object = !object_beside(bench.weft).empty();
  if (!has_object) fmt::print(stderr, "bench: no bytecode, which is built where clang-14 and libdpdk-dev are\n");
  const bool shown = isatty(STDERR_FILENO) == 1;
  std::vector<StromRow> rows;
  for (const std::uint32_t n : bench.clients) rows.emplace_back().clients = n;
  bool any = false;
  for (unsigned round = 0; round < bench.rounds; ++round) {
    for (StromRow& row : rows) {
      for (std::size_t w = 0; w < kStromWays.size(); ++w) {
        if (!has_object && kStromWays[w] == std::string_view("bytecode")) continue;
        if (shown) {
          fmt::print(stderr, "\r\033[Kround {} of {}: {} clients, {}", round + 1, bench.rounds, row.clients,
                     kStromWays[w]);
        }
        measure_get(bench, row.clients, kStromWays[w], row.ways[w]);
        any = any || row.ways[w].rate.median();
      }
    }
  }
  if (shown) fmt::print(stderr, "\r\033[Kstreams");
  const std::vector<StreamWay> streams = measure_streams(bench);
  if (shown) fmt::print(stderr, "\r\033[K");
  if (bench.json) {
    print_strom_json(rows, streams);
  } else {
    print_strom_text(bench, rows);
    print_streams_text(streams);
  }
  return any && !streams.empty() ? kOk : kFailed;
}

}  // namespace weft::cli
