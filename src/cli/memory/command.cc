// weft memory: what a card needs on chip for a number of queue pairs, a conventional one and this one side by side
// (SRNIC, tables 1 and 2), and what the cards of running programs take now.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/live/programs.h"
#include "cli/memory/bytes_text.h"
#include "cli/numbers.h"
#include "nic/on_chip.h"

namespace weft::cli {
namespace {

constexpr std::uint32_t kMostQps = 1U << 24;  // queue pair numbers have no more

struct MemoryOptions {
  std::string qps = "10000";
  bool json = false;
};

struct Part {
  const char *key, *name, *how;
  std::uint64_t bytes = 0;
};

// Table 2: this card's own memory, by what hardware would build it of.
std::vector<Part> prototype(std::uint32_t qps) {
  using nic::Design;
  using nic::Structure;
  const auto bytes = [qps](Structure s) { return nic::on_chip_bytes(Design::srnic, s, qps); };
  return {{"qpc", "QPC", "contexts", bytes(Structure::contexts)},
          {"mtt", "MTT", "cache of translations", bytes(Structure::translations)},
          {"receive_buffer", "receive buffer", "", bytes(Structure::receive_buffer)},
          {"scheduler", "SQ scheduler", "schedule and acknowledgement queue, timers", nic::scheduler_bytes(qps)}};
}

// What hardware would not need and software takes: tables of powers of two.
std::vector<Part> in_software(std::uint32_t qps) {
  const std::uint64_t slots = std::bit_ceil(qps);
  return {{"qpc_slots", "contexts in slots of 256 B", "four cache lines each", qps * sizeof(nic::Context)},
          {"qpc_table", "context table", "a power of two of them", slots * sizeof(nic::Context)},
          {"queue_ring", "schedule queue's ring", "a power of two", slots * nic::slot_bytes(qps)}};
}

nlohmann::json parts_json(const std::vector<Part>& parts) {
  nlohmann::json out = nlohmann::json::object();
  for (const Part& part : parts) out[part.key] = part.bytes;
  return out;
}

nlohmann::json running_programs() {
  nlohmann::json out = nlohmann::json::array();
  RunningPrograms running;
  for (const RunningLane& lane : running.list()) {
    const auto answer = running.ask(lane, "memory");
    if (!answer || !answer->contains("memory")) continue;  // it has just gone
    nlohmann::json one = (*answer)["memory"];
    one["program"] = lane.program;
    one["process"] = lane.process;
    out.push_back(std::move(one));
  }
  return out;
}

nlohmann::json facts(std::uint32_t qps) {
  using nic::Design;
  nlohmann::json structures = nlohmann::json::array();
  for (std::size_t i = 0; i < nic::kStructures.size(); ++i) {
    const auto structure = static_cast<nic::Structure>(i);
    structures.push_back({{"structure", nic::kStructures[i].key},
                          {"name", nic::kStructures[i].name},
                          {"how", nic::kStructures[i].how},
                          {"conventional_bytes", nic::on_chip_bytes(Design::conventional, structure, qps)},
                          {"srnic_bytes", nic::on_chip_bytes(Design::srnic, structure, qps)}});
  }
  nlohmann::json table2 = parts_json(prototype(qps));
  table2["total"] = nic::on_chip_total(Design::srnic, qps);
  return {{"qps", qps},
          {"context_state_bytes", nic::kContextStateBytes},
          {"structures", structures},
          {"conventional_total_bytes", nic::on_chip_total(Design::conventional, qps)},
          {"srnic_total_bytes", nic::on_chip_total(Design::srnic, qps)},
          {"table2", table2},
          {"in_software", parts_json(in_software(qps))},
          {"other", {{"region_bytes", sizeof(nic::Region)}, {"completion_queue_bytes", sizeof(nic::CompletionRing)}}},
          {"programs", running_programs()}};
}

std::string text_of(const nlohmann::json& bytes) { return bytes_text(bytes.get<std::uint64_t>()); }

void print_designs(const nlohmann::json& f) {
  fmt::print("On-chip memory for {} queue pairs\n\n", f["qps"].get<std::uint32_t>());
  fmt::print("{:<26} {:>12} {:>10}\n", "", "conventional", "SRNIC");
  for (const auto& s : f["structures"]) {
    fmt::print("{:<26} {:>12} {:>10}   {}\n", s["name"].get<std::string>(), text_of(s["conventional_bytes"]),
               text_of(s["srnic_bytes"]), s["how"].get<std::string>());
  }
  fmt::print("{:<26} {:>12} {:>10}\n", "total", text_of(f["conventional_total_bytes"]),
             text_of(f["srnic_total_bytes"]));
}

void print_parts(const char* title, const std::vector<Part>& parts) {
  fmt::print("\n{}\n", title);
  for (const Part& part : parts) fmt::print("{:<26} {:>12}   {}\n", part.name, bytes_text(part.bytes), part.how);
}

void print_program(const nlohmann::json& p) {
  fmt::print("\n{} (pid {}): {} queue pairs, {} regions, {} windows\n", p["program"].get<std::string>(),
             p["process"].get<std::int64_t>(), p["queue_pairs"].get<unsigned>(), p["regions"].get<unsigned>(),
             p["windows"].get<unsigned>());
  fmt::print("  card: {} of state in a table of {}; scheduler {}, regions {}, queues {}, caches {}\n",
             text_of(p["context_state_bytes"]), text_of(p["context_table_bytes"]), text_of(p["scheduler_bytes"]),
             text_of(p["region_table_bytes"]), text_of(p["queue_table_bytes"]), text_of(p["cache_bytes"]));
  fmt::print("  host: rings {}, translation table {}, recovery {}, registered {}\n", text_of(p["ring_bytes"]),
             text_of(p["translation_table_bytes"]), text_of(p["recovery_bytes"]), text_of(p["registered_bytes"]));
  if (p["star_bytes"] == 0) return;
  fmt::print("  StaR: {} queue pairs stateless, of which the card has nothing; {} of host memory\n",
             p["stateless_queue_pairs"].get<unsigned>(), text_of(p["star_bytes"]));
}

int show_memory(const MemoryOptions& options) {
  const auto qps = parse_whole(options.qps);
  if (!qps || *qps == 0 || *qps > kMostQps) {
    return usage_error(fmt::format("--qps: '{}' is not a whole number from 1 to {}", options.qps, kMostQps));
  }
  const auto count = static_cast<std::uint32_t>(*qps);
  const nlohmann::json f = facts(count);
  if (options.json) {
    fmt::print("{}\n", f.dump(2));
    return kOk;
  }
  print_designs(f);
  print_parts("SRNIC by part (table 2 of the paper)", prototype(count));
  fmt::print("{:<26} {:>12}\n", "total", text_of(f["srnic_total_bytes"]));
  fmt::print(
      "Not counted, as in the paper: {} B for each region, {} B for each completion queue, {} B for each peer.\n",
      sizeof(nic::Region), sizeof(nic::CompletionRing), sizeof(nic::Peer));
  print_parts("What the same takes in software", in_software(count));
  for (const auto& program : f["programs"]) print_program(program);
  return kOk;
}

}  // namespace

Command add_memory(CLI::App& weft, const Behind&) {
  CLI::App& app = *weft.add_subcommand("memory", "Show what queue pairs take of a card's memory, and of running ones");
  auto options = std::make_shared<MemoryOptions>();
  app.add_option("--qps", options->qps, "For so many queue pairs (10000)")->type_name("N");
  app.add_flag("--json", options->json, "Print as JSON, in bytes");
  return {.app = &app, .run = [options] { return show_memory(*options); }};
}

}  // namespace weft::cli
