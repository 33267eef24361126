// The reference model: which memory and which completions a program may end with. It knows verbs and their promises,
// and nothing of the card: no packets under way, no sequence numbers, no timers.
//
// Reliable connections: every step once, in program order. If the network took too much, a first error that is legal,
// all later work flushed, and memory as if the rest of the program had stopped at some packet (srnic: with any of the
// packets that were under way). Unreliable ones: what
// arrives is what somebody sent. Programs must give each lane memory of its own, and fence what depends on a READ or
// an atomic.
#pragma once

#include <string>
#include <vector>

#include "reliability/program.h"

namespace weft::test {

// What is wrong with the outcome, in words; nothing when all is well.
[[nodiscard]] std::vector<std::string> judge(const Program& program, const Outcome& outcome);

// Did some work of this outcome end without success?
[[nodiscard]] bool has_failures(const Outcome& outcome);

}  // namespace weft::test
