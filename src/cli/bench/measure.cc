#include "cli/bench/measure.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/bench/job.h"
#include "cli/bench/probe.h"
#include "cli/bench/programs.h"

namespace weft::cli {
namespace {

constexpr double kMebi = 1048576.0 * 8 / 1e9;  // MiB/s in Gb/s

using Words = BenchWords;

// How packets go: over UDP with the headers that every RoCEv2 card understands, or as two Weft cards of a host choose.
const Words kUdp{"--wire", "udp", "--transport", "roce"}, kChosen{"--wire", "auto"};

Measure ucx(std::string name, std::string unit, std::string transports, Words test, std::size_t column, double scale) {
  Measure m{.name = std::move(name), .unit = std::move(unit), .what = {}, .run = {}};
  m.what = fmt::format("UCX_TLS={} ucx_perftest {}", transports, joined_words(test));
  m.run = [=]() -> std::optional<double> {
    const std::string port = next_bench_port();
    Words server{"ucx_perftest", "-p", port}, client{"ucx_perftest", "127.0.0.1", "-p", port};
    server.insert(server.end(), test.begin(), test.end());
    client.insert(client.end(), test.begin(), test.end());
    const std::vector<std::pair<std::string, std::string>> variables{{"UCX_TLS", transports},
                                                                     {"UCX_NET_DEVICES", "lo"}};
    const auto text = run_pair({server, variables}, {client, variables}, kBenchSeconds);
    if (!text) return std::nullopt;
    const std::size_t final_row = text->rfind("Final:");
    if (final_row == std::string::npos) return std::nullopt;
    const auto value = number_in_last_row(std::string_view(*text).substr(final_row + 6), column);
    return value ? std::optional(*value * scale) : std::nullopt;
  };
  return m;
}

Measure libfabric(std::string name, std::string provider, const Words& more, std::size_t column, std::string unit,
                  double scale) {
  Measure m{.name = std::move(name), .unit = std::move(unit), .what = {}, .run = {}};
  m.what = fmt::format("fi_pingpong -p '{}' {}", provider, joined_words(more));
  m.run = [=]() -> std::optional<double> {
    const std::string port = next_bench_port();
    Words server{"fi_pingpong", "-p", provider, "-e", "rdm", "-B", port},
        client{"fi_pingpong", "-p", provider, "-e", "rdm", "-P", port};
    server.insert(server.end(), more.begin(), more.end());
    client.insert(client.end(), more.begin(), more.end());
    client.emplace_back("127.0.0.1");
    const auto text = run_pair({server}, {client}, kBenchSeconds);
    const auto value = text ? number_in_last_row(*text, column) : std::nullopt;
    return value ? std::optional(*value * scale) : std::nullopt;
  };
  return m;
}

}  // namespace

// Every run takes about a second: shorter ones, compared with each other, would tell of the moments they fell into.
std::vector<Measure> own_measures(const BenchPlace& p) {
  const auto latency = [](const char* messages) { return Words{"ib_send_lat", "-F", "-s", "64", "-n", messages}; };
  // Who waits for it looks at its memory, and polls only for what it has sent itself.
  const auto unseen = [](const char* messages) { return Words{"ib_write_lat", "-F", "-s", "64", "-n", messages}; };
  const auto write = [](const char* messages) {
    return Words{"ib_write_bw", "-F", "-s", "65536", "-n", messages, "--report_gbits"};
  };
  const auto send = [](const char* messages) {
    return Words{"ib_send_bw", "-F", "-s", "64", "-n", messages, "-Q", "32"};
  };
  return {
      against(perftest(p, "udp_send_latency_64B", "us", kUdp, latency("150000"), 4), {{"sockperf_udp_latency", 1.2}},
              true),
      perftest(p, "udp_write_latency_64B", "us", kUdp, unseen("150000"), 4),
      against(perftest(p, "udp_write_64KB", "Gb/s", kUdp, write("50000"), 3),
              {{"probe_4KB", 0.8}, {"iperf3_tcp", 0.5}, {"libfabric_rxd_64KB", 10}}),
      perftest(p, "udp_send_64B", "M/s", kUdp, send("2000000"), 4),
      against(perftest(p, "shm_send_latency_64B", "us", kChosen, latency("600000"), 4),
              {{"ucx_posix_latency_64B", 1.5}}, true),
      perftest(p, "shm_write_latency_64B", "us", kChosen, unseen("600000"), 4),
      against(perftest(p, "shm_write_64KB", "Gb/s", kChosen, write("200000"), 3), {{"ucx_posix_cma_64KB", 1.0}}),
      perftest(p, "shm_send_64B", "M/s", kChosen, send("4000000"), 4),
  };
}

std::vector<Measure> peer_measures(const BenchPlace& p) {
  const auto small = [](const char* messages) { return Words{"-t", "tag_lat", "-s", "64", "-n", messages}; };
  const auto large = [](const char* messages) { return Words{"-t", "tag_bw", "-s", "65536", "-n", messages}; };
  const Words bulk{"-S", "65536", "-I", "3000"}, tiny{"-S", "64", "-I", "400000"};
  return {
      {.name = "probe_4KB",
       .unit = "Gb/s",
       .what = "4 KB segments, CRC twice, placed; no protocol",
       .run = probe_stream_gbits},
      sockperf(p, "sockperf_udp_latency"),
      iperf3(p, "iperf3_tcp"),
      libfabric("libfabric_rxd_64KB", "udp;ofi_rxd", bulk, 5, "Gb/s", 8 / 1e3),
      libfabric("libfabric_rxm_64KB", "tcp;ofi_rxm", bulk, 5, "Gb/s", 8 / 1e3),
      libfabric("libfabric_shm_latency_64B", "shm", tiny, 6, "us", 1),
      ucx("ucx_tcp_latency_64B", "us", "tcp,self", small("100000"), 1, 1),
      ucx("ucx_tcp_64KB", "Gb/s", "tcp,self", large("40000"), 5, kMebi),
      ucx("ucx_posix_latency_64B", "us", "posix,self", small("800000"), 1, 1),
      ucx("ucx_posix_cma_64KB", "Gb/s", "posix,cma,self", large("150000"), 5, kMebi),
  };
}

std::optional<double> number_in_last_row(std::string_view text, std::size_t column) {
  std::optional<double> found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string w; words >> w;) row.push_back(w);
    if (row.size() <= column || row[0].find_first_not_of("0123456789.k") != std::string::npos) continue;
    double value = 0;
    const auto [end, error] = std::from_chars(row[column].data(), row[column].data() + row[column].size(), value);
    if (error == std::errc() && std::isfinite(value) && value > 0) found = value;
  }
  return found;
}

std::optional<double> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t from = text.find_first_of("0123456789", at + word.size());
  double value = 0;
  if (from == std::string_view::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + from, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace weft::cli
