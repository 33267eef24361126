// weft bench strom: GET from a key-value store in a server's memory (examples/kv), by a kernel on its card, by the same
// as bytecode that the clients deploy, by READs and by TCP; and streams through kernels beside plain WRITEs
// (examples/streams). Interleaved in one run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace weft::cli {

struct StromBench {
  std::string weft, address, wire = "shm";
  std::vector<std::uint32_t> clients{1, 64};
  std::uint32_t milliseconds = 1000, value_bytes = 64;
  unsigned rounds = 5;
  bool json = false;
};

CLI::App& add_strom_bench(CLI::App& bench, StromBench& options);
int run_strom_bench(const StromBench& bench);

}  // namespace weft::cli
