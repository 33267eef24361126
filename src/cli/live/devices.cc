// weft devices: the device that a program would find here, and the programs that have it open.
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/live/programs.h"
#include "world/real/settings/address_text.h"
#include "world/real/settings/addresses.h"
#include "world/real/settings/device_name.h"
#include "world/real/settings/settings.h"

namespace weft::cli {
namespace {

nlohmann::json describe(const real::Settings& settings, const std::vector<RunningLane>& lanes) {
  const auto addresses = settings.port_addresses();
  nlohmann::json gids = nlohmann::json::array(), programs = nlohmann::json::array();
  std::uint16_t mtu = 4096;
  for (const wire::Address& a : addresses) {
    gids.push_back(real::text_of(a));
    mtu = std::min(mtu, real::roce_mtu(a));
  }
  for (const RunningLane& lane : lanes) {
    programs.push_back({{"process", lane.process},
                        {"program", lane.program},
                        {"lane_number", lane.lane_number},
                        {"addresses", lane.addresses},
                        {"srnic", lane.speaks_srnic},
                        {"stateless", lane.stateless},
                        {"stateful", lane.stateful}});
  }
  return {{"device", real::kDeviceName}, {"state", "PORT_ACTIVE"}, {"link_layer", "Ethernet"},
          {"gid_type", "RoCE v2"},       {"gids", gids},           {"active_mtu", mtu},
          {"programs", programs}};
}

std::string spoken_by(const nlohmann::json& program) {
  std::string said = program["srnic"].get<bool>() ? "" : ", no srnic";
  for (const char* role : {"stateless", "stateful"}) {
    if (program[role].get<bool>()) said += std::string(", StaR, ") + role;
  }
  return said == ", no srnic" ? ", roce only" : said;
}

int show_devices(bool json) {
  const auto settings = real::Settings::from_environment();
  if (!settings) return usage_error(settings.error());
  const nlohmann::json facts = describe(*settings, RunningPrograms().list());
  if (json) {
    fmt::print("{}\n", facts.dump(2));
    return kOk;
  }
  fmt::print("weft0: PORT_ACTIVE, Ethernet, RoCE v2, active_mtu {}\n", facts["active_mtu"].get<int>());
  for (std::size_t i = 0; i < facts["gids"].size(); ++i) {
    fmt::print("  GID {}: {}\n", i, facts["gids"][i].get<std::string>());
  }
  if (facts["programs"].empty()) fmt::print("  no program has it open\n");
  for (const auto& p : facts["programs"]) {
    std::string at;
    for (const auto& address : p["addresses"]) at += (at.empty() ? "" : ", ") + address.get<std::string>();
    fmt::print("  open in {} (pid {}) at {}{}\n", p["program"].get<std::string>(), p["process"].get<std::int64_t>(), at,
               spoken_by(p));
  }
  return kOk;
}

}  // namespace

Command add_devices(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("devices", "Show the device that programs find here, and who has it open");
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print as JSON");
  return {.app = &app, .run = [json] { return show_devices(*json); }};
}

}  // namespace weft::cli
