// What a test says about the answer to an attack. Each of these names a refusal and notes that the suite has provoked
// it; refusals_test.cc asks at the end whether every one has been.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "frames.h"
#include "victim.h"

namespace weft::trust {

using testing::AssertionResult;
using wire::Opcode;
using wire::Psn;

[[nodiscard]] std::string text_of(const Effects& effects);

void note_provoked(Refusal refusal);
[[nodiscard]] bool was_provoked(Refusal refusal);

// Counted under this name, `times` times, and nothing else: no answer, no completion, no event, no byte of memory and
// no queue pair is different from before.
[[nodiscard]] AssertionResult dropped(const Effects& got, Refusal why, std::uint64_t times = 1);
// Counted under this name, and under no other.
[[nodiscard]] AssertionResult counted(const Effects& got, Refusal why, std::uint64_t times = 1);
// Nobody outside the card can tell that anything happened: no packet, completion, event or byte of memory.
[[nodiscard]] AssertionResult silent(const Effects& got);
// Nothing whatever happened.
[[nodiscard]] AssertionResult nothing(const Effects& got);
// Nothing was refused, and only this queue pair is different.
[[nodiscard]] AssertionResult accepted(const Effects& got, const Connection& c);

// One packet was sent, to the peer: this acknowledgement of this PSN.
[[nodiscard]] AssertionResult answered(const Effects& got, const Connection& c, wire::Syndrome syndrome, Psn psn);
// A request refused for this reason: this NAK at the expected PSN, this event, the queue pair in ERROR, no memory
// changed, and no other queue pair touched. Completions are the caller's to check.
[[nodiscard]] AssertionResult broken(const Effects& got, const Connection& c, Refusal why, wire::NakCode code);
// Our own work failed: this completion for it, then the rest flushed, queue pair in this state; nothing sent.
[[nodiscard]] AssertionResult failed(const Effects& got, const Connection& c, Refusal why, nic::Status status,
                                     nic::QpState state = nic::QpState::error);

// The connection still carries data, both ways: the peer's WRITE is placed and acknowledged, and so is ours.
[[nodiscard]] AssertionResult works(Victim& victim, Connection& c, const Area& area);

}  // namespace weft::trust
