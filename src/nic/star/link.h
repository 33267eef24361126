// What the stateful side of a StaR connection keeps besides its context: the stateless side's queues, what is under way
// in both directions, and what is known of the path. In host memory, made with the queue pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/prefetch.h"
#include "base/time.h"
#include "nic/formats.h"
#include "nic/star/registry.h"
#include "wire/star_payloads.h"

namespace weft::nic {

// An entry of a queue of the stateless side. Its elements, or its inline bytes, stand in `tail`.
struct RemoteWork {
  WorkKind kind{};
  std::uint8_t flags = 0, sges = 0, epoch = 0;
  Refusal refusal = Refusal::none;
  std::uint32_t length = 0, immediate = 0;
  wire::Key key{};
  std::uint64_t address = 0, compare_add = 0, swap = 0;

  static constexpr std::size_t kTailBytes = 464;
  static constexpr std::size_t kMaxSges = kTailBytes / wire::StarSge::kBytes, kMaxInline = kTailBytes;
  std::array<std::byte, kTailBytes> tail;

  RemoteWork() {}  // NOLINT(modernize-use-equals-default, cppcoreguidelines-pro-type-member-init): not the tail
  // What `w` says, and so much of its tail: few entries fill it.
  void take(const RemoteWork& w, std::size_t tail_bytes) {
    std::memcpy(this, &w, offsetof(RemoteWork, tail) + tail_bytes);
  }
  [[nodiscard]] wire::StarSge sge(std::size_t i) const {
    return wire::star_read<wire::StarSge>(tail, i * wire::StarSge::kBytes);
  }
};
static_assert(sizeof(RemoteWork) == 512);
static_assert(wire::StarPosts::kBytes + wire::StarWork::kBytes + RemoteWork::kTailBytes <= wire::kStarControlBytes);

// A packet that has not been answered: RD, GD, CQEP, or a question for a rule.
struct Flight {
  enum class Kind : std::uint8_t { none, push, pull, atomic, completions, question };
  Kind kind = Kind::none;
  bool lost = false;        // to be sent again
  std::uint8_t copies = 0;  // of it that have been sent; 3: three, or more
  std::uint8_t stream = 0;
  std::uint32_t operation = 0;          // free-running number in its stream
  std::uint32_t offset = 0, bytes = 0;  // of the message; of completions: number of the first, and how many
  Time sent_at = 0, stale_at = 0;       // the last copy; from then on the stateless card takes none
};
static_assert(sizeof(Flight) == 32, "the card looks through them often");

// Of a packet that has been sent twice. M tells the second copy from the first.
struct TwoCopies {
  Time first_sent_at = 0, first_stale_at = 0;
  bool waits = false;      // one of them has been answered, and the other one not
  bool is_second = false;  // that one
  std::uint8_t stream = 0;
  wire::Psn psn{};
  std::uint32_t operation = 0;
};

// Work of one side under way.
struct Operation {
  WorkKind kind{};
  bool all_sent = false;
  bool takes_receive = false;
  bool failed = false;  // with these:
  Status status{};
  Refusal reason = Refusal::none;
  std::uint32_t entry = 0;    // of the send queue
  std::uint32_t receive = 0;  // of the receive queue, if it takes one
  std::uint32_t length = 0, sent = 0;
  std::uint32_t flights = 0;      // not answered yet
  std::uint32_t done_number = 0;  // its receive's completion, among those for the stateless side
  std::uint64_t value = 0;        // of an atomic: what was there before
  Time safe_at = 0;               // no copy of its packets is taken from then on
  std::uint32_t risky = 0;        // packets of which not all copies have been answered
};

struct StarStream {
  static constexpr std::uint32_t kOperations = 32;
  std::array<Operation, kOperations> operations{};
  std::uint32_t begun = 0, ripened = 0, ended = 0;  // free-running
  bool blocked = false;                             // what is next must wait until something has been heard
  bool skip = false;                                // what was next needed no packet, and is done
  Time not_ready_since = kNever;                    // its receive has not been posted

  [[nodiscard]] Operation& at(std::uint32_t n) { return operations[n % kOperations]; }
  [[nodiscard]] bool full() const { return begun - ended == kOperations; }
  [[nodiscard]] bool sending() const { return begun != ended && !operations[(begun - 1) % kOperations].all_sent; }
};

// As long as any requester would have tried.
[[nodiscard]] constexpr Time star_patience(Time ack_timeout, std::uint8_t retries) {
  return ack_timeout * (Time{retries} + 1);
}

struct StarLink {
  static constexpr std::uint32_t kWindow = 64;  // packets
  static constexpr std::uint32_t kRemote = 64;  // entries of each of the stateless side's queues
  static constexpr std::uint32_t kDones = 2 * kRemote + 2;
  static_assert(StarRegistry::kRules > StarStream::kOperations);
  enum Side : std::uint8_t { own, remote };

  std::uint32_t era = 0;  // of the state that may migrate: another one's comes late (nic/stateless_block.h)
  bool migrated = false;
  bool remote_broken = false;  // the stateless side's queue pair has been told to break, or has
  bool gone = false;           // it takes no completions any more
  bool owes_migration_ack = false;
  bool trusted = false;  // the stateless card wants no capabilities (CardConfig::star_trust)
  wire::Qpn remote_qpn{};
  wire::Capability control{};                                // for the stateless side's block
  wire::StarMac seal_key{};                                  // what comes of states and rules is sealed with it
  std::uint8_t rnr_retry = 7, min_rnr_timer = 0, saved = 0;  // the stateless side's
  std::uint32_t atomics = 0;                                 // own ones begun, free-running

  std::array<RemoteWork, kRemote> works{}, receives{};
  std::uint32_t works_posted = 0, receives_posted = 0, receives_taken = 0;
  std::uint32_t own_receives_taken = 0;  // own receive entries that the stateless side's work under way has taken

  std::array<Flight, kWindow> flights{};
  std::array<TwoCopies, kWindow> twice{};
  std::uint32_t open = 0;     // flights not answered yet
  std::uint32_t lost = 0;     // of those: to be sent again
  std::uint32_t window = 16;  // packets that may be open

  std::array<StarStream, 2> streams{};

  std::array<wire::StarDone, kDones> dones{};  // completions for the stateless side
  std::uint32_t dones_posted = 0, dones_heard = 0;
  bool dones_under_way = false;
  std::uint32_t barrier = 0;  // the stateless side's work goes on when this many have been heard

  StarRegistry registry{};
  wire::Key wanted{};  // a rule for this key is wanted
  bool question_under_way = false;

  // Breaks once the stateless side knows.
  enum class Failing : std::uint8_t { no, own_work, as_responder };
  Failing failing = Failing::no;
  Status fail_status{};
  Refusal fail_reason = Refusal::none;
  std::uint32_t fail_receive = ~0U;  // own entry that completes with it

  // The stateless side's clock said `clock` when ours was `clock_at`.
  std::uint32_t clock = 0;
  Time clock_at = 0;
  Time answer_time = 0, variation = 0;  // smoothed; 0: not known
  std::uint8_t backoff = 0;
  Time heard_at = 0;  // something was, or nothing was under way
  Time due = kNever;  // when the timer was to be looked at

  void note_sent(wire::Psn psn, Time now, Time good_for) {
    Flight& f = flight(psn);
    if (f.copies == 1) twice[psn.raw() % kWindow] = {.first_sent_at = f.sent_at, .first_stale_at = f.stale_at};
    if (f.copies < 3) ++f.copies;
    f.sent_at = now;
    f.stale_at = now + good_for;
  }
  // How long an answer has taken.
  void learn(Time took) {
    if (answer_time == 0) {
      answer_time = took;
      variation = took / 2;
      return;
    }
    const Time off = took > answer_time ? took - answer_time : answer_time - took;
    variation += (off - variation) / 4;
    answer_time += (took - answer_time) / 8;
  }
  // Receive entries of the stateless side whose completions have been heard.
  [[nodiscard]] std::uint32_t receives_done() const {
    std::uint32_t done = receives_taken;
    for (std::uint32_t i = dones_heard; i != dones_posted; ++i) {
      if (dones[i % kDones].queue == wire::StarDone::Queue::receive) --done;
    }
    const StarStream& s = streams[own];
    for (std::uint32_t i = s.ripened; i != s.begun; ++i) {
      if (s.operations[i % StarStream::kOperations].takes_receive) --done;
    }
    return done;
  }

  // A packet that answers this one comes soon.
  void expect(wire::Psn psn) const {
    prefetch(&flights[psn.raw() % kWindow]);
    prefetch(&open);
    prefetch(&streams[remote].begun);
    prefetch(&streams[own].begun);
    prefetch(&dones_posted);
    prefetch(&heard_at);
  }
  // The stateless side's queues have come so far in another dialect.
  void begin_at(std::uint32_t sends_done, std::uint32_t receives_done_there) {
    StarStream& s = streams[remote];
    works_posted = s.begun = s.ripened = s.ended = sends_done;
    receives_posted = receives_taken = receives_done_there;
  }
  // Nothing is under way, for either side's work, and the stateless side has heard of all that is done.
  [[nodiscard]] bool is_quiet() const {
    const StarStream& s = streams[remote];
    return open == 0 && streams[own].ended == streams[own].begun && s.ended == s.begun && s.begun == works_posted &&
           dones_heard == dones_posted && failing == Failing::no && !remote_broken;
  }

  [[nodiscard]] Flight& flight(wire::Psn psn) { return flights[psn.raw() % kWindow]; }
};

}  // namespace weft::nic
