// weft bench star: a server with 1 to 100 000 connections and a few client programs, with roce, with srnic, and as a
// stateless card of StaR, that checks capabilities and that does not; interleaved in one run. The workload is that of
// figure 1 of StaR (ICNP 2021): three clients, whose memory the server READs, 32 bytes at a time, one READ under way on
// a connection; but at most 1024 on all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace weft::cli {

struct StarBench {
  std::string weft, address, wire = "shm", verb = "read";
  std::vector<std::uint32_t> qps{1, 100, 10'000, 100'000};
  std::uint32_t clients = 3, milliseconds = 1000;
  unsigned rounds = 3;
  bool json = false;
};

CLI::App& add_star_bench(CLI::App& bench, StarBench& options);
int run_star_bench(const StarBench& bench);

}  // namespace weft::cli
