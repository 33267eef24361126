#include "cli/bench/loss.h"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/bench/job.h"
#include "cli/bench/measure.h"
#include "cli/bench/number_json.h"
#include "cli/bench/number_text.h"
#include "cli/bench/samples.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

constexpr int kLossRunSeconds = 40;
constexpr std::array kLosses{"0", "0.01%", "0.1%", "1%", "5%"};
constexpr std::array kDialects{"srnic", "roce"};
constexpr std::size_t kSrnic = 0, kRoce = 1, kLossless = 0, kOnePercent = 3;
constexpr std::size_t kGbits = 3;  // the column of perftest's table

// What the project promises: goodput kept at 1 % of loss, and how much more that is than go-back-N's.
constexpr double kKeepsGoodput = 0.75, kBeatsGoBackN = 3, kLosslessNear = 0.9;

using LossTable = std::array<std::array<Samples, kDialects.size()>, kLosses.size()>;

std::vector<std::string> words_of(std::size_t dialect, std::size_t loss, unsigned round) {
  return {"run",
          "--wire",
          "udp",
          "--transport",
          kDialects[dialect],
          "--loss",
          kLosses[loss],
          "--seed",
          std::to_string(round + 1),
          "--",
          "ib_write_bw",
          "-F",
          "-s",
          "4096",
          "-D",
          "1",
          "--report_gbits"};
}

std::string command_of(std::size_t dialect, std::size_t loss) {
  std::string out = "weft";
  for (const std::string& w : words_of(dialect, loss, 0)) out += " " + w;
  return out;
}

void measure_cell(const LossBench& bench, Samples& cell, std::size_t dialect, std::size_t loss, unsigned round) {
  static int port = 24500;
  std::vector<std::string> server{bench.weft};
  const auto words = words_of(dialect, loss, round);
  server.insert(server.end(), words.begin(), words.end());
  server.insert(server.begin() + 2, {"--addr", bench.address});
  server.insert(server.end(), {"-p", std::to_string(port++)});
  std::vector<std::string> client = server;
  client.push_back(bench.address);
  const auto text = run_pair({server}, {client}, kLossRunSeconds);
  cell.add(text ? number_in_last_row(*text, kGbits) : std::nullopt);
}

struct LossVerdict {
  const char* what;
  std::optional<double> ratio;
  double floor;
  [[nodiscard]] bool met() const { return ratio && *ratio >= floor; }
};

std::array<LossVerdict, 3> verdicts_of(const LossTable& t) {
  return {{{"srnic keeps of its lossless goodput at 1 % loss",
            Samples::ratio(t[kOnePercent][kSrnic], t[kLossless][kSrnic]), kKeepsGoodput},
           {"srnic beside go-back-N at 1 % loss", Samples::ratio(t[kOnePercent][kSrnic], t[kOnePercent][kRoce]),
            kBeatsGoBackN},
           {"srnic beside go-back-N without loss", Samples::ratio(t[kLossless][kSrnic], t[kLossless][kRoce]),
            kLosslessNear}}};
}

void print_loss_json(const LossTable& table) {
  nlohmann::json rows = nlohmann::json::array(), verdicts = nlohmann::json::array();
  for (std::size_t loss = 0; loss < kLosses.size(); ++loss) {
    for (std::size_t d = 0; d < kDialects.size(); ++d) {
      const Samples& cell = table[loss][d];
      rows.push_back({{"loss", kLosses[loss]},
                      {"transport", kDialects[d]},
                      {"value", number_or_null(cell.median())},
                      {"unit", "Gb/s"},
                      {"of_lossless", number_or_null(Samples::ratio(cell, table[kLossless][d]))},
                      {"runs", cell.values()},
                      {"failed", cell.failed()},
                      {"command", command_of(d, loss)}});
    }
  }
  for (const LossVerdict& v : verdicts_of(table)) {
    verdicts.push_back({{"what", v.what}, {"ratio", number_or_null(v.ratio)}, {"at_least", v.floor}, {"met", v.met()}});
  }
  fmt::print("{}\n", nlohmann::json{{"rows", rows}, {"verdicts", verdicts}}.dump(2));
}

void print_loss_text(const LossTable& table) {
  fmt::print("{}\n\n", command_of(kSrnic, kOnePercent));
  fmt::print("{:>6}  {:>11} {:>12}  {:>11} {:>12}  {:>12}\n", "loss", "srnic Gb/s", "of lossless", "roce Gb/s",
             "of lossless", "srnic/roce");
  for (std::size_t loss = 0; loss < kLosses.size(); ++loss) {
    const auto& row = table[loss];
    fmt::print("{:>6}  {:>11} {:>12}  {:>11} {:>12}  {:>12}\n", kLosses[loss], number_text(row[kSrnic].median()),
               number_text(Samples::ratio(row[kSrnic], table[kLossless][kSrnic])), number_text(row[kRoce].median()),
               number_text(Samples::ratio(row[kRoce], table[kLossless][kRoce])),
               number_text(Samples::ratio(row[kSrnic], row[kRoce])));
  }
  fmt::print("\n");
  for (const LossVerdict& v : verdicts_of(table)) {
    fmt::print("{:>6} {:<50} {} (at least {})\n", number_text(v.ratio), v.what, v.met() ? "met" : "MISSED", v.floor);
  }
  for (std::size_t loss = 0; loss < kLosses.size(); ++loss) {
    for (std::size_t d = 0; d < kDialects.size(); ++d) {
      if (const std::size_t failed = table[loss][d].failed(); failed > 0) {
        fmt::print("{} of the runs with {} and loss {} did not end, or did not end well\n", failed, kDialects[d],
                   kLosses[loss]);
      }
    }
  }
}

}  // namespace

int run_loss_bench(const LossBench& bench) {
  if (!is_installed("ib_write_bw"))
    return usage_error("ib_write_bw is not installed: scripts/bootstrap brings perftest");
  const bool progress = isatty(STDERR_FILENO) == 1;
  LossTable table;
  for (unsigned round = 0; round < bench.rounds; ++round) {
    for (std::size_t loss = 0; loss < kLosses.size(); ++loss) {
      for (std::size_t d = 0; d < kDialects.size(); ++d) {
        if (progress) {
          fmt::print(stderr, "\r\033[Kround {} of {}: {} at {} loss", round + 1, bench.rounds, kDialects[d],
                     kLosses[loss]);
        }
        measure_cell(bench, table[loss][d], d, loss, round);
      }
    }
  }
  if (progress) fmt::print(stderr, "\r\033[K");
  bench.json ? print_loss_json(table) : print_loss_text(table);
  return table[kLossless][kSrnic].values().empty() ? kFailed : kOk;
}

}  // namespace weft::cli
