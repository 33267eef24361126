// weft bench machines: this card between two machines, beside TCP and UDP: two network namespaces with an Ethernet
// between them, as two containers, pods or virtual machines have it; interleaved in one run, with floors.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace weft::cli {

struct MachinesBench {
  std::string weft, only;
  unsigned rounds = 5;
  bool json = false;
};

CLI::App& add_machines_bench(CLI::App& bench, MachinesBench& options);
int run_machines_bench(const MachinesBench& bench);

}  // namespace weft::cli
