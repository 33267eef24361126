// weft bench connections: what is left of the rate when many connections each have many requests under way, with
// srnic and with roce, measured in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/bench/connections/table.h"

namespace weft::cli {

struct LoadBench {
  std::string weft;     // path of the weft command; weft-connections lies beside it
  std::string address;  // where the programs meet
  // Empty: all, or with `quick` those of the quick set.
  std::vector<std::string> wires, transports, verbs;
  std::vector<std::uint32_t> depths, qps;
  unsigned rounds = 0, milliseconds = 0;  // 0: as many as the set has
  bool quick = false, json = false;
  std::string report;  // the folder of the page; empty: none
};

CLI::App& add_load_bench(CLI::App& bench, LoadBench& options);

// The exit code.
[[nodiscard]] int run_load_bench(const LoadBench& bench);

}  // namespace weft::cli
