// Deliberate bugs that the suite must catch, one or two a layer (tests/canary). A build with WEFT_CANARIES can wake one
// at a time; in every other build canary() is false at compile time and nothing of them is left.
#pragma once

#include <cstdint>

namespace weft {

// One a line: tests/canary/CMakeLists.txt makes a test of each, by its place.
enum class Canary : std::uint8_t {
  none,                    // the suite as it is: all of it passes
  icrc_ignored,            // wire: damaged packets are believed
  pad_is_payload,          // wire: zeros arrive that nobody sent
  gate_one_too_many,       // nic, memory: the byte behind a region belongs to it
  gate_any_domain,         // nic, memory: a key is good in every protection domain
  read_takes_one_psn,      // nic, sender: the answers to a READ have no PSNs of their own
  duplicate_carried_out,   // nic, receiver: a repeated request is placed again
  answer_from_the_start,   // nic, replies: what is missing of a READ is answered from its beginning
  skipped_read_forgotten,  // nic, answers: an acknowledgement beyond a READ goes unnoticed
  retries_without_end,     // nic, recovery: silence is answered for ever
  early_end_forgotten,     // nic, srnic: a message that ends ahead of its turn is placed and never received
  early_atomic_done,       // nic, srnic: an atomic ahead of its turn is carried out at once, and again in its turn
  fast_exit_too_far,       // nic, srnic: recovery is left with a packet that has not come
  flushed_is_success,      // nic, completions: work that was never done says that it was
  any_queue_key,           // nic, datagrams: everybody may send to everybody
  any_attribute,           // host: what a program asks for is not looked at
  corruption_unseen,       // world/sim, faults: a fault is counted and does not happen
  link_never_busy,         // world/sim, links: packets leave at the same time
};

#ifdef WEFT_CANARIES
inline Canary canary_awake = Canary::none;
inline bool canary(Canary which) { return which == canary_awake; }
#else
constexpr bool canary(Canary) { return false; }
#endif

}  // namespace weft
