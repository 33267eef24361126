// The requester's half of a stream in recovery: which packets have arrived over there, and which were sent again when.
// A packet is lost when one that was sent after it has arrived, be it for the first time or again; so a packet that is
// lost twice is found without waiting for a timeout, as long as others follow it.
#pragma once

#include <cstdint>
#include <vector>

#include "host/recovery/bitmap.h"

namespace weft::host {

class SenderRecord {
 public:
  // `window`: no more than so many packets are ever under way.
  SenderRecord(wire::Psn unacked, std::uint32_t window);

  [[nodiscard]] wire::Psn base() const { return base_; }

  void acked(wire::Psn unacked);                  // everything before it has arrived
  void sacked(wire::Psn psn, std::uint32_t run);  // `run` packets that end with `psn` have
  void doubt_everything() { there_.clear(); }     // what was known may be wrong: the peer's words were lost
  void forget_resending() { resent_.clear(); }    // long ago: none of it can still be under way
  // All that was sent before `next` and has not arrived never will.
  void assume_lost(wire::Psn next) {
    forget_resending();
    newest_ = next;
  }

  // Calls retry(psn, count) for ranges that were lost and have not been sent again since, oldest first; `next` is the
  // PSN that new packets go on with. False from retry: no room, ask again later.
  template <class Retry>
  void each_lost(wire::Psn next, Retry&& retry) {
    wire::Psn from = base_;
    while (from.ahead_of(next) < 0 && from.ahead_of(newest_) < 0) {
      from = there_.first_missing(from, next);
      std::uint32_t count = 0;
      while (from.plus(count).ahead_of(next) < 0 && is_lost(from.plus(count))) ++count;
      if (count == 0) {
        from = from.plus(1);
        continue;
      }
      if (!retry(from, static_cast<std::uint16_t>(count))) return;
      note_resent(from, count, next);
      from = from.plus(count);
    }
  }
  // This one, whatever is known of it.
  void note_resent(wire::Psn from, std::uint32_t count, wire::Psn next);

  // Everything that was sent again has arrived, and nothing is known to have overtaken anything.
  [[nodiscard]] bool over() const { return base_.ahead_of(end_there_) >= 0 && base_.ahead_of(end_resent_) >= 0; }

  [[nodiscard]] std::size_t bytes() const { return sizeof *this + resent_at_.capacity() * sizeof(wire::Psn); }

 private:
  // When a packet was sent last, as the PSN that was next then: for those sent once, their own.
  [[nodiscard]] wire::Psn sent_at(wire::Psn psn) const { return resent_.has(psn) ? resent_at_[place(psn)] : psn; }
  [[nodiscard]] bool is_lost(wire::Psn psn) const { return !there_.has(psn) && sent_at(psn).ahead_of(newest_) < 0; }
  [[nodiscard]] std::size_t place(wire::Psn psn) const { return psn.raw() & (resent_at_.size() - 1); }
  void note_arrived(wire::Psn psn);

  wire::Psn base_;
  wire::Psn newest_;      // latest time of sending of a packet that has arrived
  wire::Psn end_there_;   // one past the newest packet that has arrived
  wire::Psn end_resent_;  // one past the newest packet that was sent again
  PacketBitmap there_, resent_;
  std::vector<wire::Psn> resent_at_;
};

}  // namespace weft::host
