// weft explain QPN: why a queue pair of a running program is in the state it is in.
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/live/programs.h"

namespace weft::cli {
namespace {

struct ExplainOptions {
  std::string qpn;
  bool json = false;
};

std::optional<std::uint32_t> parse_qpn(const std::string& text) {
  try {
    std::size_t used = 0;
    const unsigned long value = std::stoul(text, &used, 0);
    if (used == text.size() && value <= 0xFF'FFFF) return static_cast<std::uint32_t>(value);
  } catch (const std::exception&) {  // neither a number nor one that fits
  }
  return std::nullopt;
}

void print_refused(const char* title, const nlohmann::json& r) {
  fmt::print("  {}: {} PSN {} from {}, {} ago: {} ({})\n", title, r["opcode"].get<std::string>(), r["psn"].get<int>(),
             r["from"].get<std::string>(), r["ago"].get<std::string>(), r["meaning"].get<std::string>(),
             r["rule"].get<std::string>());
}

std::string_view what_it_means(const std::string& role) {
  return role == "stateless" ? "stateless: the peer's card keeps the state of both sides"
                             : "stateful: this card keeps the state of both sides";
}

void print_story(const nlohmann::json& s) {
  fmt::print("queue pair 0x{:06x} of {} (pid {}): {}, {}\n", s["qpn"].get<unsigned>(), s["program"].get<std::string>(),
             s["process"].get<std::int64_t>(), s["service"].get<std::string>(), s["state"].get<std::string>());
  if (s["service"] != "UD") {
    fmt::print("  peer: queue pair 0x{:06x} at {}{}\n", s["peer_qpn"].get<unsigned>(), s["peer"].get<std::string>(),
               s.contains("dialect") ? ", in " + s["dialect"].get<std::string>() : "");
    if (s.contains("role")) fmt::print("  StaR: {}\n", what_it_means(s["role"].get<std::string>()));
  }
  for (const auto& change : s["history"]) {
    fmt::print("  {:>12} ago: {}\n", change["ago"].get<std::string>(), change["state"].get<std::string>());
  }
  fmt::print("  work: {} posted, {} done; window: PSN {} oldest unacknowledged, {} next\n",
             s["sends_posted"].get<unsigned>(), s["sends_done"].get<unsigned>(), s["unacked_psn"].get<unsigned>(),
             s["next_psn"].get<unsigned>());
  if (s.contains("first_refused")) print_refused("first packet refused", s["first_refused"]);
  if (s.contains("last_refused")) print_refused("last packet refused", s["last_refused"]);
  if (!s.contains("broken_by")) {
    fmt::print("  nothing has broken it\n");
    return;
  }
  fmt::print("  broken by: {} ({})\n", s["meaning"].get<std::string>(), s["broken_by"].get<std::string>());
  fmt::print("  likely cause: {}\n", s["likely_cause"].get<std::string>());
}

int explain(const ExplainOptions& options) {
  const auto qpn = parse_qpn(options.qpn);
  if (!qpn) return usage_error(fmt::format("'{}' is not a queue pair number: 0x0..0xffffff, or decimal", options.qpn));
  RunningPrograms running;
  for (const RunningLane& lane : running.list()) {
    if (lane.lane_number != *qpn >> wire::kLaneShift) continue;
    auto answer = running.ask(lane, fmt::format("explain {}", *qpn));
    if (!answer || !answer->contains("qpn")) continue;
    (*answer)["program"] = lane.program;
    (*answer)["process"] = lane.process;
    if (options.json) {
      fmt::print("{}\n", answer->dump(2));
    } else {
      print_story(*answer);
    }
    return kOk;
  }
  fmt::print(stderr, "weft: no running program has a queue pair 0x{:06x}. Those that run: weft devices.\n", *qpn);
  return kFailed;
}

}  // namespace

Command add_explain(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("explain", "Tell what happened to a queue pair of a running program, and why");
  auto options = std::make_shared<ExplainOptions>();
  app.add_option("QPN", options->qpn, "Its number, as the program prints it: 0x20a1b, or decimal")->required();
  app.add_flag("--json", options->json, "Print as JSON");
  return {.app = &app, .run = [options] { return explain(*options); }};
}

}  // namespace weft::cli
