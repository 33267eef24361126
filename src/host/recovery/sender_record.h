// The requester's half of a stream in recovery: which packets have arrived over there, and which were sent again when.
// A packet is lost when one that was sent some packets after it has arrived, be it for the first time or again; so a
// packet that is lost twice is found without waiting for a timeout, as long as others follow it. Between asking the
// card to send a packet again and hearing that it has, the card sends others: those say nothing about it. A packet is
// lost as well when the peer was asked after it had been sent, and did not have it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/recovery/bitmap.h"

namespace weft::host {

class SenderRecord {
 public:
  SenderRecord() = default;
  // `window`: no more than so many packets are ever under way.
  SenderRecord(wire::Psn unacked, std::uint32_t window) { restart(unacked, window); }
  void restart(wire::Psn unacked, std::uint32_t window);

  [[nodiscard]] wire::Psn base() const { return base_; }

  void acked(wire::Psn unacked);                  // everything before it has arrived
  void sacked(wire::Psn psn, std::uint32_t run);  // `run` packets that end with `psn` have
  void doubt_everything() { there_.clear(); }     // what was known may be wrong: the peer's words were lost
  void doubt_oldest() { there_.clear(base_); }
  void forget_resending() {  // long ago: none of it can still be under way
    resent_.clear();
    asked_for_.clear();
    asked_.clear();
  }
  // All that was sent before `next`, and not again since, has arrived or never will.
  void assume_lost(wire::Psn next) {
    if (next.ahead_of(proven_) > 0) proven_ = next;
  }

  // Calls retry(psn, count) for ranges that were lost and have not been sent again since, oldest first; `next` is the
  // PSN that new packets go on with, `room` how many packets may overtake one that is not lost. It answers with the
  // number of the entry of the retry queue; none: no room, ask again later.
  template <class Retry>
  void each_lost(wire::Psn next, std::uint32_t room, Retry&& retry) {
    wire::Psn from = base_;
    while (from.ahead_of(next) < 0 && (from.ahead_of(newest_) < 0 || from.ahead_of(proven_) < 0)) {
      from = there_.first_missing(from, next);
      std::uint32_t count = 0;
      while (from.plus(count).ahead_of(next) < 0 && is_lost(from.plus(count), room)) ++count;
      if (count == 0) {
        from = from.plus(1);
        continue;
      }
      const std::optional<std::uint16_t> entry = retry(from, static_cast<std::uint16_t>(count));
      if (!entry) return;
      note_asked(from, count, *entry, next);
      from = from.plus(count);
    }
  }
  // The card has been asked to send these again, by this entry of the retry queue.
  void note_asked(wire::Psn from, std::uint32_t count, std::uint16_t entry, wire::Psn next);
  // The card has sent everything of the retry queue before entry `end`, at the latest when `next` was the PSN of new
  // packets.
  void note_sent(std::uint16_t end, wire::Psn next);

  // Everything that was sent again has arrived, and nothing is known to have overtaken anything.
  [[nodiscard]] bool over() const { return base_.ahead_of(end_there_) >= 0 && base_.ahead_of(end_resent_) >= 0; }

  [[nodiscard]] std::size_t bytes() const { return sizeof *this + resent_at_.capacity() * sizeof(Sent); }

 private:
  // When a packet was sent last, as the PSN that was next then: for those sent once, their own. For the others it lies
  // between asking and hearing that it was done.
  struct Sent {
    wire::Psn earliest, latest;
  };
  [[nodiscard]] Sent sent_at(wire::Psn psn) const { return resent_.has(psn) ? resent_at_[place(psn)] : Sent{psn, psn}; }
  [[nodiscard]] bool is_lost(wire::Psn psn, std::uint32_t room) const {
    if (there_.has(psn) || asked_for_.has(psn)) return false;
    const wire::Psn latest = sent_at(psn).latest;
    return newest_.ahead_of(latest) >= static_cast<std::int32_t>(room) || latest.ahead_of(proven_) < 0;
  }
  [[nodiscard]] std::size_t place(wire::Psn psn) const { return psn.raw() & (resent_at_.size() - 1); }
  void note_arrived(wire::Psn psn);

  wire::Psn base_{};
  wire::Psn newest_{};      // latest time of sending of a packet that has arrived
  wire::Psn proven_{};      // what was sent before this time has arrived or is lost
  wire::Psn end_there_{};   // one past the newest packet that has arrived
  wire::Psn end_resent_{};  // one past the newest packet that was sent again
  struct Asked {
    wire::Psn from, next;
    std::uint32_t count;
    std::uint16_t entry;
  };
  PacketBitmap there_, asked_for_, resent_;
  std::vector<Asked> asked_;  // in the order of the retry queue
  std::vector<Sent> resent_at_;
};

}  // namespace weft::host
