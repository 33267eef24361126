#include "cli/bench/machines/bench.h"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/bench/machines/namespaces.h"
#include "cli/bench/measure.h"
#include "cli/bench/programs.h"
#include "cli/bench/rows.h"
#include "cli/command.h"

namespace weft::cli {
namespace {

// What the project promises: of TCP's rate, by the MTU, and of the latency of bare UDP.
constexpr std::array kOfTcp{0.5, 0.7};
constexpr double kOfUdpLatency = 1.25, kSends = 1.5;

constexpr std::array kMachineDialects{"roce", "srnic"};

BenchPlace place_of(const MachinesBench& bench, const TwoMachines& machines, std::size_t wire, int ip_version) {
  const auto side = [&](std::size_t machine) {
    return BenchSide{TwoMachines::address(machine, wire, ip_version), machines.network(machine)};
  };
  return {.weft = bench.weft, .server = side(0), .client = side(1), .meeting = TwoMachines::address(0, wire, 4)};
}

// 64 KB WRITEs and READs, beside TCP.
void add_long(std::vector<Measure>& all, const BenchPlace& place, std::size_t wire, int ip_version) {
  const std::string where = fmt::format("{}_ipv{}", TwoMachines::kMtus[wire], ip_version);
  const std::string tcp = "tcp_" + where;
  for (const char* dialect : kMachineDialects) {
    for (const char* verb : {"write", "read"}) {
      all.push_back(
          against(perftest(place, fmt::format("{}_64KB_{}_{}", verb, dialect, where), "Gb/s", {"--transport", dialect},
                           {fmt::format("ib_{}_bw", verb), "-F", "-s", "65536", "-n", "25000", "--report_gbits"}, 3),
                  {{tcp, kOfTcp[wire]}}));
    }
  }
  all.push_back(iperf3(place, tcp));
}

// 64 bytes: their latency beside that of bare UDP, and how many there are in a second.
void add_short(std::vector<Measure>& all, const BenchPlace& place) {
  for (const char* dialect : kMachineDialects) {
    all.push_back(against(perftest(place, fmt::format("latency_64B_{}", dialect), "us", {"--transport", dialect},
                                   {"ib_send_lat", "-F", "-s", "64", "-n", "60000"}, 4),
                          {{"latency_64B_udp", kOfUdpLatency}}, true));
  }
  all.push_back(sockperf(place, "latency_64B_udp"));
  for (const char* dialect : kMachineDialects) {
    Measure sends = perftest(place, fmt::format("send_64B_{}", dialect), "M/s", {"--transport", dialect},
                             {"ib_send_bw", "-F", "-s", "64", "-n", "1500000", "-Q", "32"}, 4);
    sends.floor = kSends;
    all.push_back(std::move(sends));
  }
}

std::vector<Measure> machine_measures(const MachinesBench& bench, const TwoMachines& machines) {
  std::vector<Measure> all;
  add_short(all, place_of(bench, machines, 0, 4));
  for (std::size_t wire = 0; wire < TwoMachines::kMtus.size(); ++wire) {
    for (const int ip_version : {4, 6}) add_long(all, place_of(bench, machines, wire, ip_version), wire, ip_version);
  }
  return all;
}

}  // namespace

CLI::App& add_machines_bench(CLI::App& bench, MachinesBench& options) {
  CLI::App& app = *bench.add_subcommand(
      "machines", "Between two machines, beside TCP and UDP: network namespaces that it makes, which takes root");
  app.add_flag("--json", options.json, "Rows of name, value, unit, beside, ratio");
  app.add_option("--rounds", options.rounds, "Every row is measured so often; medians are shown")
      ->type_name("N")
      ->default_str("5")
      ->check(CLI::Range(1U, 1000U));
  app.add_option("--only", options.only, "Only rows whose name contains this")->type_name("TEXT");
  return app;
}

int run_machines_bench(const MachinesBench& bench) {
  const auto machines = TwoMachines::make();
  if (!machines) {
    fmt::print(stderr, "weft bench machines: {}\n", machines.error());
    return kFailed;
  }
  return measure_and_print(machine_measures(bench, *machines), {bench.only, bench.rounds, bench.json});
}

}  // namespace weft::cli
