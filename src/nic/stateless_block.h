// A stateless queue pair (StaR), as its host keeps it. The card has nothing of it: packets name the block and show a
// capability for it, and the card reads it over the bus while it serves them. `context` is what a card would keep,
// with the rings and counts that host software and completions use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "nic/context.h"
#include "wire/star_payloads.h"

namespace weft::nic {

struct alignas(64) StatelessBlock {
  Context context;
  std::uint32_t generation = 0;  // the card's count of owners of blocks: tells a new one from an old one
  // Free-running counts of each queue: put into WQEPs, and acknowledged by EAs.
  std::uint32_t works_told = 0, works_heard = 0, receives_told = 0, receives_heard = 0;
  std::uint32_t works_begun = 0;  // the furthest that was ever put into a WQEP: copies of it may be on their way
  std::uint32_t room = 0;         // entries of each queue that the stateful side keeps; 0: the state has not moved yet
  bool wants_migration = false;   // it has not been acknowledged since the state changed
  bool watched = false;           // the host's timer runs
  bool asks = false;              // wants to know whether the stateful side is there
  bool breaking = false;          // it has broken, and what was posted is being flushed
  bool broken_told = false;       // the stateful side has been told that it has broken, or is being told
  wire::Psn last_completions{};   // of the CQEP that was taken last: a copy is answered as it was
  std::uint8_t reposts = 0;       // without an answer
  std::uint32_t rules = 0;        // grows when something is taken back of what its peer has been granted
  bool granted = false;           // its peer has been granted something since
  std::uint32_t era = 0;          // of the connection in StaR: 0 from its beginning, else of the move to it
  bool offered = false;           // it became stateless by agreement: the peer is to be told, until the state has moved
  Status break_status{};
  Refusal break_reason = Refusal::none;
  Time silent_since = 0;  // something waits for an EA since then
  Time due = kNever;      // when the host's timer was to be looked at
  // The host's timer (host/star/stateless_side.h).
  Time deadline = kNever;
  std::uint32_t timer = 0;
  std::uint32_t slot = 0;  // the host's name of the queue pair

  // Something that was said has not been acknowledged.
  [[nodiscard]] bool waits_for_answer() const {
    return wants_migration || works_told != works_heard || receives_told != receives_heard;
  }
  // Something has been heard of the stateful side.
  void note_heard(Time now) {
    silent_since = now;
    reposts = 0;
    if (!waits_for_answer() && !has_limit()) watched = false;
  }
  // Work is under way, and its requester has a limit to its patience.
  [[nodiscard]] bool has_limit() const {
    return context.state == QpState::rts && context.ack_timeout != 0 && context.sq_posted != context.sq_done;
  }
};

// How packets name a block: its number, and its generation.
constexpr std::uint64_t block_name(std::uint32_t number, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | number;
}
// What RDs carry of it (nic/memory/recent_data.h).
constexpr std::uint16_t incarnation_of(std::uint64_t name) { return static_cast<std::uint16_t>(name >> 32); }

}  // namespace weft::nic
