// What the card knows of each peer, of all connections to it together: how long it takes to answer, how much may be
// under way to it, and which queue pairs wait until more may be. A side table: contexts have its number. A peer is an
// address, and one of the cards behind it if several share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nic/congestion/answer_time.h"
#include "nic/congestion/peer_window.h"
#include "nic/context.h"
#include "nic/schedule/scheduler.h"

namespace weft::nic {

// How far packets may have overtaken one that is not lost. TCP and QUIC start with three as well. What turns out to
// have been sent again needlessly widens it, recoveries narrow it again.
class ReorderingRoom {
 public:
  [[nodiscard]] std::uint32_t packets() const { return sixteenths_ / 16; }
  void on_needless() { sixteenths_ = std::min<std::uint32_t>(sixteenths_ * 2, kMost); }
  void on_recovered() { sixteenths_ = std::max<std::uint32_t>(sixteenths_ - sixteenths_ / 16, kLeast); }

 private:
  static constexpr std::uint32_t kLeast = 3 * 16, kMost = 256 * 16;
  std::uint32_t sixteenths_ = kLeast;
};

// Two cache lines: the first is what packets need.
struct alignas(64) Peer {
  std::uint32_t under_way = 0;                // packets, of all connections
  std::uint32_t first = kNone, last = kNone;  // slots that wait, in the order in which they came
  wire::Qpn timed_qpn{};                      // the packet whose answer is being timed, one at a time; 0: none
  wire::Psn timed_psn{};
  bool timed_response = false;
  bool silent = false;     // a local ACK timeout has passed since it was heard last
  bool has_woken = false;  // one that has waited has not had its turn yet
  Time timed_at = 0;
  PeerWindow window{};

  AnswerTime answer_time{};
  ReorderingRoom reordering{};
  std::uint32_t resent = 0;  // packets sent again that have not turned out to have been needless
  wire::Address address{};
  std::uint32_t card = 0;         // which of those at the address
  std::uint32_t connections = 0;  // 0: this slot of the table is free
};
static_assert(sizeof(Peer) == 128);

class Peers {
 public:
  static constexpr std::uint32_t kMost = 1024;

  // `slots`: of the context table.
  explicit Peers(std::uint32_t slots) : next_(slots) {}

  // The number of a peer with one more connection. When the table is full, peers share slots: they share a window
  // then, and an answer time, which is less exact and does no other harm.
  [[nodiscard]] std::uint16_t join(const wire::Address& address, std::uint32_t card, std::uint32_t window) {
    std::uint16_t free = kNoPeer;
    for (std::uint16_t i = 1; i <= table_.size(); ++i) {
      Peer& p = table_[i - 1];
      if (p.connections == 0) {
        if (free == kNoPeer) free = i;
      } else if (p.address == address && p.card == card) {
        ++p.connections;
        return i;
      }
    }
    if (free == kNoPeer && table_.size() < kMost) {
      table_.emplace_back();
      free = static_cast<std::uint16_t>(table_.size());
    }
    if (free == kNoPeer) {
      std::uint32_t mixed = card;
      for (const std::uint8_t byte : address.bytes) mixed = mixed * 31 + byte;
      free = static_cast<std::uint16_t>(1 + mixed % kMost);
      ++table_[free - 1].connections;
      return free;
    }
    Peer& p = table_[free - 1] = Peer{};
    p.address = address;
    p.card = card;
    p.connections = 1;
    p.window.start(window);
    return free;
  }
  // The connection in `slot` is no more: nothing of it is under way, and it waits for nothing. The first of those that
  // still wait, if there are any, may now go: the card has to look.
  std::uint32_t leave(Context& c, std::uint32_t slot) {
    if (c.peer_slot == kNoPeer) return kNone;
    Peer& p = (*this)[c.peer_slot];
    p.under_way -= c.counted;
    c.counted = 0;
    if (c.waits) remove(p, slot);
    if (c.woken) p.has_woken = false;
    if (p.timed_qpn == c.qpn) p.timed_qpn = wire::Qpn{};
    c.waits = c.woken = false;
    --p.connections;
    c.peer_slot = kNoPeer;
    return p.first;
  }

  [[nodiscard]] Peer& operator[](std::uint16_t number) { return table_[number - 1U]; }
  [[nodiscard]] const Peer& operator[](std::uint16_t number) const { return table_[number - 1U]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(table_.size()); }
  [[nodiscard]] std::size_t bytes() const { return table_.capacity() * sizeof(Peer) + next_.bytes(); }

  // -- queue pairs that wait
  void push(Peer& p, std::uint32_t slot) {
    next_.set(slot, slot);  // the last one's next is itself
    if (p.first == kNone) {
      p.first = slot;
    } else {
      next_.set(p.last, slot);
    }
    p.last = slot;
  }
  void push_front(Peer& p, std::uint32_t slot) {
    if (p.first == kNone) return push(p, slot);
    next_.set(slot, p.first);
    p.first = slot;
  }
  [[nodiscard]] std::uint32_t pop(Peer& p) {
    const std::uint32_t slot = p.first;
    p.first = slot == p.last ? kNone : next_.get(slot);
    if (p.first == kNone) p.last = kNone;
    return slot;
  }
  // Who stands behind `slot`, which waits; kNone: nobody.
  [[nodiscard]] std::uint32_t behind(const Peer& p, std::uint32_t slot) const {
    return slot == p.last ? kNone : next_.get(slot);
  }

 private:
  void remove(Peer& p, std::uint32_t slot) {
    Peer rest;
    while (p.first != kNone) {
      const std::uint32_t each = pop(p);
      if (each != slot) push(rest, each);
    }
    p.first = rest.first;
    p.last = rest.last;
  }

  std::vector<Peer> table_;
  SlotNumbers next_;
};

}  // namespace weft::nic
