// What weft-connections has found out, for people and for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/samples.h"
#include "cli/connections/load.h"
#include "cli/connections/options.h"

namespace weft::connections {

inline constexpr std::uint32_t kIdleDepth = 16;  // entries of an idle connection's send queue, 64 bytes each

// One number of connections, round by round.
struct ConnectionsPoint {
  std::uint32_t connections = 0;
  cli::Samples rate, least, most, median_us, p99_us;
  std::uint64_t completed = 0;  // in all rounds
  bool steady = true;           // in all rounds

  void add(const Measured& round);
};

struct Findings {
  std::vector<ConnectionsPoint> points;
  std::uint32_t buffers = 0, receives = 0;
  std::optional<double> idle_bytes;  // of one side of an idle connection
  // Of a server: its clients, and how long it took until each had connected and written.
  std::uint32_t clients = 0;
  std::optional<double> connect_seconds;
};

[[nodiscard]] std::string text_of(const Options& options, const Findings& findings);
[[nodiscard]] std::string json_of(const Options& options, const Findings& findings);  // one line

}  // namespace weft::connections
