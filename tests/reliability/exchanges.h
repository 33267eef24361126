// The programs of the fault matrix: a verb, so many packets a message, so many messages, from host 0 to host 1.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "reliability/program.h"

namespace weft::test {

struct Exchange {
  wire::Service service = wire::Service::rc;
  nic::WorkKind kind = nic::WorkKind::send;
  std::uint32_t packets = 1;  // of one message
  std::uint32_t messages = 2;
  std::uint32_t window = 256;  // packets
  wire::Psn psn{100};
  Time late = 0;  // how long each receive keeps its message waiting
};

[[nodiscard]] std::string name_of(const Exchange& exchange);
inline void PrintTo(const Exchange& exchange, std::ostream* out) { *out << name_of(exchange); }

[[nodiscard]] Program program_of(const Exchange& exchange);

// SENDs, WRITEs, READs, atomics, fences and windows on one connection, both ways at the same time.
[[nodiscard]] Program mixed_program(wire::Psn psn);

// Every verb of the service × one packet, three packets, three across the wrap of the PSN.
[[nodiscard]] std::vector<Exchange> short_exchanges(wire::Service service);
// Every verb of the service with long messages × longer than a small window, and (RC) than the usual one.
[[nodiscard]] std::vector<Exchange> long_exchanges(wire::Service service);

// Every verb that needs a receive, and the receiver is never ready in time.
[[nodiscard]] std::vector<Exchange> late_exchanges();

[[nodiscard]] Program with_faults(Program program, std::vector<sim::ScriptedFault> script);

inline constexpr std::array kEveryFault{sim::Fault::drop, sim::Fault::duplicate, sim::Fault::delay,
                                        sim::Fault::corrupt};

}  // namespace weft::test
