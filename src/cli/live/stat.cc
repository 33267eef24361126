// weft stat: the counters of running programs, under the names that operators know from Soft-RoCE and mlx5.
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/live/programs.h"

namespace weft::cli {
namespace {

struct StatOptions {
  bool json = false, all = false, qps = false;
  std::int64_t process = 0;
};

void print_lane(const nlohmann::json& lane, bool all) {
  fmt::print("{} (pid {}), lane {}\n", lane["program"].get<std::string>(), lane["process"].get<std::int64_t>(),
             lane["lane_number"].get<int>());
  for (const char* group : {"counters", "port", "dialects"}) {
    if (!lane.contains(group)) continue;
    for (const auto& [name, value] : lane[group].items()) {
      const bool zero = value.is_number() && value.get<std::int64_t>() == 0;
      if (!zero || all)
        fmt::print("  {:<28} {:>14}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
}

void print_qps(const nlohmann::json& qps) {
  for (const auto& qp : qps) {
    fmt::print("  queue pair 0x{:06x} {:<5} {} {}", qp["qpn"].get<unsigned>(), qp["state"].get<std::string>(),
               qp["service"].get<std::string>(), qp.value("dialect", std::string("roce")));
    if (qp.contains("role")) fmt::print(" ({})", qp["role"].get<std::string>());
    if (qp["service"] != "UD") {
      fmt::print(", peer 0x{:06x} at {}", qp["peer_qpn"].get<unsigned>(), qp["peer"].get<std::string>());
    }
    fmt::print("\n");
  }
}

int show_counters(const StatOptions& options) {
  RunningPrograms running;
  nlohmann::json lanes = nlohmann::json::array();
  for (const RunningLane& lane : running.list()) {
    if (options.process != 0 && lane.process != options.process) continue;
    auto answer = running.ask(lane, options.qps ? "qps" : "counters");
    if (!answer) continue;  // it has just gone
    (*answer)["program"] = lane.program;
    (*answer)["process"] = lane.process;
    (*answer)["lane_number"] = lane.lane_number;
    lanes.push_back(std::move(*answer));
  }
  if (options.json) {
    fmt::print("{}\n", lanes.dump(2));
  } else {
    for (const auto& lane : lanes) {
      print_lane(lane, options.all);
      if (lane.contains("qps")) print_qps(lane["qps"]);
    }
  }
  if (!lanes.empty()) return kOk;
  if (!options.json) fmt::print(stderr, "weft: no {} program runs on the card\n", options.process != 0 ? "such" : "");
  return kFailed;
}

}  // namespace

Command add_stat(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("stat", "Show the counters of programs that run on the card");
  auto options = std::make_shared<StatOptions>();
  app.add_flag("--json", options->json, "Print as JSON");
  app.add_flag("--all", options->all, "Counters that are zero, too");
  app.add_flag("--qps", options->qps, "Each queue pair, too: its state, what it speaks, its peer");
  app.add_option("--pid", options->process, "Only this process")->type_name("PID");
  return {.app = &app, .run = [options] { return show_counters(*options); }};
}

}  // namespace weft::cli
