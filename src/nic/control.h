// The pair of control queues between the card and the host's retransmission software (host/retransmission.h). The card
// tells of what is out of order in a few bytes; the software, which keeps the bitmaps in host memory, tells the card
// how far it has come and what to send again. The world carries both, at once or with the bus's delay.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/srnic.h"
#include "wire/types.h"

namespace weft::nic {

// A connection is four streams of sequence numbers: requests and responses, each way. Ours that go out have a sender's
// bitmap (what has arrived over there), those that come in a receiver's (what has arrived here).
enum class Stream : std::uint8_t { requests_out, requests_in, responses_out, responses_in };

// Longest distance between the oldest missing packet and the newest: the size of a bitmap, and the widest window.
inline constexpr std::uint32_t kMaxWindow = 4096;

struct LossEvent {
  enum class Kind : std::uint8_t {
    arrived,  // in: the packet `psn` is here, ahead of its turn or during recovery; `base` is expected
    exited,   // in: the card has left recovery; `base` is expected now
    sacked,   // out: `run` packets that end with `psn` have arrived over there, others from `base` on have not
    acked,    // out: everything before `base` has arrived, and that is all that is known
    missing,  // out: exactly the `run` packets that begin with `psn` have not arrived (stateless requester)
    silence,  // out: nothing has been heard for too long, and the peer is being asked
    probed,   // out: when the peer was asked, `psn` was the next; of what was sent before it has nothing from `base` on
              //   but `run` packets that end before `run_end`
    refused,  // out: the receiver was not ready; we have waited, and it may be by now
    gone,     // the queue pair has broken: nothing of it matters any more
  };
  std::uint32_t slot = 0;
  wire::Qpn qpn{};
  Stream stream{};
  Kind kind{};
  std::uint8_t silences = 0;  // out: how often in a row nothing has been heard for too long
  std::uint16_t run = 0;
  std::uint16_t told = 0;     // out: which of the news of losses this is, or follows
  std::uint16_t retried = 0;  // out: how many entries of the retry queue have been sent, free-running
  wire::Psn psn{}, base{}, run_end{};
  wire::Psn next{};         // out: first PSN that was never sent
  wire::Sequence anchor{};  // out: where `psn` stands in its message; of silence: where `base` does
};

struct ControlMessage {
  enum class Kind : std::uint8_t {
    advance,  // in: everything before `psn` has arrived
    retry,    // out: entries have been posted to the retry queue
    leave,    // out: recovery is over
    missing,  // in: tell the peer that `count` packets from `psn` on are missing
  };
  std::uint32_t slot = 0;
  wire::Qpn qpn{};
  Stream stream{};
  Kind kind{};
  std::uint16_t count = 0;  // leave: the last news of losses that the software has heard
  wire::Psn psn{};
  std::uint16_t ring = 0;  // retry: which queue
};

// What to send again: `count` packets from `psn` on, the first of which stands at `at` in its message.
struct RetryEntry {
  wire::Psn psn{};
  std::uint16_t count = 0;
  Stream stream{};
  bool refused = false;  // not lost: the receiver was not ready
  wire::Sequence at{};   // requests; responses are found by their PSN
};

// A retry queue in host memory, of a queue pair that has something to send again.
struct RetryRing {
  static constexpr std::uint32_t kEntries = 64;
  static constexpr std::uint16_t kNoRing = 0xFFFF;
  wire::Qpn owner{};  // rings change hands: an old owner must not send a new one's packets
  std::array<RetryEntry, kEntries> entries{};
  std::uint32_t posted = 0, done = 0;  // free-running

  [[nodiscard]] bool empty() const { return posted == done; }
  [[nodiscard]] bool full() const { return posted - done == kEntries; }
  [[nodiscard]] RetryEntry& oldest() { return entries[done % kEntries]; }
  void post(const RetryEntry& e) { entries[posted++ % kEntries] = e; }
};

}  // namespace weft::nic
