// Many connections between two hosts, each with as much posted as its send queue holds, through a switch whose way out
// is a tenth as fast as the way in: what is under way waits there, as long as it takes, and nothing is ever dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/bed.h"

namespace weft::test {

struct Load {
  nic::Dialect dialect = nic::Dialect::srnic;
  nic::WorkKind kind = nic::WorkKind::write;
  std::uint32_t bytes = 64;
  std::uint32_t connections = 1;
  std::uint32_t messages = 16;  // of each connection, all posted at once
  bool both_ways = false;
  sim::FaultPlan faults{};           // of what is sent
  sim::FaultPlan answer_faults{};    // of what the second host answers
  Time stops_at = 0, stops_for = 0;  // the second host does nothing for so long,
  Time stops_every = kNever;         //   and again
  std::uint32_t hosts = 2;           // all but the first send to the first, if there are more than two
  Time target_delay = microseconds(200);
  std::uint8_t ack_timeout = 14;  // as perftest has it: 67 ms

  [[nodiscard]] std::string text() const;
};

struct Loaded {
  bool at_rest = false;               // everything has ended
  std::uint64_t failed = 0;           // completions with an error, or with wrong bytes
  std::uint64_t sent = 0, again = 0;  // packets, of all hosts
  std::uint64_t probes = 0, needless = 0, timeouts = 0;
  Time took = 0;
  double of_the_wire = 0;  // payload that arrived at the busiest host, of what its link carries
  std::vector<Time> ends;  // when each connection's last message completed
  // What connections have done at half of the time that the wire takes for all of it, beside their mean.
  double least_share = 0, most_share = 0;
};

// What the wire gives: the bottleneck's rate.
inline constexpr std::uint64_t kBottleneck = 10'000'000'000;

[[nodiscard]] Loaded run(const Load& load, std::uint64_t seed = 1);

}  // namespace weft::test
