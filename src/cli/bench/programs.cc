#include "cli/bench/programs.h"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench/job.h"

namespace weft::cli {

std::string next_bench_port() {
  static int port = 23500;
  return std::to_string(port++);
}

std::string joined_words(const BenchWords& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

Measure perftest(const BenchPlace& place, std::string name, std::string unit, const BenchWords& way,
                 const BenchWords& program, std::size_t column) {
  Measure m{.name = std::move(name), .unit = std::move(unit), .what = {}, .run = {}};
  m.what = fmt::format("weft run {} -- {}", joined_words(way), joined_words(program));
  const auto words_of = [=](const BenchSide& side, const std::string& port) {
    BenchWords words{place.weft, "run", "--addr", side.address};
    words.insert(words.end(), way.begin(), way.end());
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
    words.insert(words.end(), {"-p", port});
    return words;
  };
  m.run = [=]() -> std::optional<double> {
    const std::string port = next_bench_port();
    BenchWords client = words_of(place.client, port);
    client.push_back(place.meeting);
    const auto text = run_pair({.words = words_of(place.server, port), .network = place.server.network},
                               {.words = client, .network = place.client.network}, kBenchSeconds);
    return text ? number_in_last_row(*text, column) : std::nullopt;
  };
  return m;
}

Measure sockperf(const BenchPlace& place, std::string name) {
  return {.name = std::move(name),
          .unit = "us",
          .what = "sockperf ping-pong --nonblocked -m 64",
          .run = [=]() -> std::optional<double> {
            const std::string port = next_bench_port(), address = place.server.address;
            const auto text = run_pair(
                {.words = {"sockperf", "server", "-i", address, "-p", port, "--nonblocked"},
                 .network = place.server.network},
                {.words = {"sockperf", "ping-pong", "-i", address, "-p", port, "-m", "64", "-t", "1", "--nonblocked"},
                 .network = place.client.network},
                kBenchSeconds);
            return text ? number_after(*text, "percentile 50.000 =") : std::nullopt;
          }};
}

Measure iperf3(const BenchPlace& place, std::string name) {
  return {.name = std::move(name), .unit = "Gb/s", .what = "iperf3 -t 1", .run = [=]() -> std::optional<double> {
            const std::string port = next_bench_port();
            const auto text = run_pair({.words = {"iperf3", "-s", "-1", "-p", port}, .network = place.server.network},
                                       {.words = {"iperf3", "-c", place.server.address, "-p", port, "-t", "1", "-J"},
                                        .network = place.client.network},
                                       kBenchSeconds);
            if (!text) return std::nullopt;
            const auto j = nlohmann::json::parse(*text, nullptr, false);
            if (j.is_discarded() || !j.contains("end")) return std::nullopt;
            return j["end"]["sum_received"].value("bits_per_second", 0.0) / 1e9;
          }};
}

Measure against(Measure m, std::vector<Measure::Beside> besides, bool less_is_better) {
  m.besides = std::move(besides);
  m.less_is_better = less_is_better;
  return m;
}

}  // namespace weft::cli
