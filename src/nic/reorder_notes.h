// What the card must remember of packets that came ahead of their turn and cannot be finished yet: how a message ends,
// a READ or atomic that waits for what is before it, an entry of a shared receive queue that is taken. Their payload is
// already in its final place. Notes lie in host memory, in a pool of fixed size that all connections share, and exist
// only while there is loss.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/packet.h"

namespace weft::nic {

struct ReorderNote {
  enum class Kind : std::uint8_t { receive_end, request, response_end, taken };
  Kind kind{};
  wire::Opcode opcode{};
  bool solicited = false;
  std::uint16_t next = 0;  // in the connection's list, sorted by PSN
  // The first note of a list knows the last one, and the newest of those that are taken; kNothing: look for it.
  std::uint16_t last = 0, newest_taken = 0;
  wire::Psn psn{};
  std::uint32_t ssn = 0;        // of a message that uses a receive entry
  std::uint32_t bytes = 0;      // of the whole message
  std::uint32_t immediate = 0;  // or the key to invalidate
  std::uint32_t entry = 0;      // shared receive entry that is taken; work entry that is answered
  wire::Sequence sequence{};    // of a request
  union {
    wire::Reth reth;
    wire::AtomicEth atomic;
  };
  ReorderNote() : atomic{} {}
};

class ReorderNotes {
 public:
  static constexpr std::uint16_t kNothing = 0xFFFF;

  explicit ReorderNotes(std::uint32_t size) : notes_(size) {
    assert(size < kNothing);
    for (std::uint32_t i = 0; i < size; ++i)
      notes_[i].next = static_cast<std::uint16_t>(i + 1 == size ? kNothing : i + 1);
    free_ = size == 0 ? kNothing : 0;
  }

  [[nodiscard]] ReorderNote& operator[](std::uint16_t i) { return notes_[i]; }
  [[nodiscard]] std::uint32_t used() const { return used_; }

  // A note in its place of the list that begins at `head`; nullptr when all are in use. A packet that came twice gets
  // the note that it has, unless of another kind.
  [[nodiscard]] ReorderNote* add(std::uint16_t& head, wire::Psn psn, ReorderNote::Kind kind) {
    if (ReorderNote* same = find(head, psn, kind)) return same;
    return add_one(head, psn, kind);
  }
  // Notes that an entry of a shared receive queue is taken, for the message `ssn`, which has none yet.
  [[nodiscard]] ReorderNote* add_taken(std::uint16_t& head, wire::Psn psn, std::uint32_t ssn) {
    ReorderNote* note = add_one(head, psn, ReorderNote::Kind::taken);
    if (note != nullptr) note->ssn = ssn;
    return note;
  }

  // Takes the first note out of the list whose packet is before `end`, for its finder to use before the next call;
  // nullptr when there is none. Taken entries stay: they wait for their message, not for a packet.
  [[nodiscard]] ReorderNote* take_before(std::uint16_t& head, wire::Psn end) {
    std::uint16_t before = kNothing;
    for (std::uint16_t at = head; at != kNothing; before = at, at = notes_[at].next) {
      if (notes_[at].psn.ahead_of(end) >= 0) return nullptr;
      if (notes_[at].kind == ReorderNote::Kind::taken) continue;
      unlink(head, before, at);
      return &notes_[at];
    }
    return nullptr;
  }
  [[nodiscard]] ReorderNote* take_taken(std::uint16_t& head, std::uint32_t ssn) {
    std::uint16_t before = kNothing;
    for (std::uint16_t at = head; at != kNothing; before = at, at = notes_[at].next) {
      if (notes_[at].kind != ReorderNote::Kind::taken || notes_[at].ssn != ssn) continue;
      unlink(head, before, at);
      return &notes_[at];
    }
    return nullptr;
  }
  // The newest message that has taken an entry; nullptr when none has.
  [[nodiscard]] const ReorderNote* newest_taken(std::uint16_t head) {
    if (head == kNothing) return nullptr;
    std::uint16_t& newest = notes_[head].newest_taken;
    if (newest == kNothing) {
      for (std::uint16_t at = head; at != kNothing; at = notes_[at].next) {
        if (notes_[at].kind == ReorderNote::Kind::taken) newest = at;
      }
    }
    return newest == kNothing ? nullptr : &notes_[newest];
  }
  [[nodiscard]] ReorderNote* find_taken(std::uint16_t head, std::uint32_t ssn) {
    for (std::uint16_t at = head; at != kNothing; at = notes_[at].next) {
      if (notes_[at].kind == ReorderNote::Kind::taken && notes_[at].ssn == ssn) return &notes_[at];
    }
    return nullptr;
  }
  // Takes any note out; nullptr when the list is empty.
  [[nodiscard]] ReorderNote* take_any(std::uint16_t& head) {
    if (head == kNothing) return nullptr;
    const std::uint16_t at = head;
    unlink(head, kNothing, at);
    return &notes_[at];
  }

 private:
  ReorderNote* add_one(std::uint16_t& head, wire::Psn psn, ReorderNote::Kind kind) {
    if (free_ == kNothing) return nullptr;
    const std::uint16_t at = free_;
    free_ = notes_[at].next;
    ++used_;
    ReorderNote& note = notes_[at] = ReorderNote();
    note.psn = psn;
    note.kind = kind;
    note.newest_taken = kNothing;
    link(head, at);
    if (kind == ReorderNote::Kind::taken) notes_[head].newest_taken = at;
    return &note;
  }
  ReorderNote* find(std::uint16_t head, wire::Psn psn, ReorderNote::Kind kind) {
    if (head == kNothing) return nullptr;
    const ReorderNote& last = notes_[notes_[head].last];
    if (last.psn.ahead_of(psn) < 0) return nullptr;
    // The packet has just taken an entry for its message: it is the newest of all.
    if (last.psn == psn && last.kind == ReorderNote::Kind::taken) return nullptr;
    for (std::uint16_t at = head; at != kNothing && notes_[at].psn.ahead_of(psn) <= 0; at = notes_[at].next) {
      if (notes_[at].psn == psn && notes_[at].kind == kind) return &notes_[at];
    }
    return nullptr;
  }
  // Most come in order: the end of the list is looked at first.
  void link(std::uint16_t& head, std::uint16_t at) {
    ReorderNote& note = notes_[at];
    if (head == kNothing) {
      note.next = kNothing;
      note.last = at;
      head = at;
      return;
    }
    const std::uint16_t last = notes_[head].last;
    if (notes_[last].psn.ahead_of(note.psn) <= 0) {
      note.next = kNothing;
      notes_[last].next = at;
      notes_[head].last = at;
    } else if (notes_[head].psn.ahead_of(note.psn) > 0) {
      note.next = head;
      note.last = last;
      note.newest_taken = notes_[head].newest_taken;
      head = at;
    } else {
      std::uint16_t before = head;
      while (notes_[notes_[before].next].psn.ahead_of(note.psn) <= 0) before = notes_[before].next;
      note.next = notes_[before].next;
      notes_[before].next = at;
    }
  }
  void unlink(std::uint16_t& head, std::uint16_t before, std::uint16_t at) {
    ReorderNote& note = notes_[at];
    if (notes_[head].newest_taken == at) notes_[head].newest_taken = kNothing;
    if (before != kNothing) {
      notes_[before].next = note.next;
      if (notes_[head].last == at) notes_[head].last = before;
    } else {
      head = note.next;
      if (head != kNothing) {
        notes_[head].last = note.last;
        notes_[head].newest_taken = note.newest_taken;
      }
    }
    note.next = free_;
    free_ = at;
    --used_;
  }

  std::vector<ReorderNote> notes_;
  std::uint16_t free_ = kNothing;
  std::uint32_t used_ = 0;
};

}  // namespace weft::nic
