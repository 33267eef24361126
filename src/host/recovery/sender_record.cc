#include "host/recovery/sender_record.h"

#include <algorithm>
#include <bit>

namespace weft::host {

SenderRecord::SenderRecord(wire::Psn unacked, std::uint32_t window)
    : base_(unacked),
      newest_(unacked),
      end_there_(unacked),
      end_resent_(unacked),
      resent_at_(std::bit_ceil(std::clamp(window, 1U, PacketBitmap::kBits))) {}

void SenderRecord::note_arrived(wire::Psn psn) {
  if (sent_at(psn).ahead_of(newest_) > 0) newest_ = sent_at(psn);
}

void SenderRecord::acked(wire::Psn unacked) {
  const std::int32_t steps = unacked.ahead_of(base_);
  if (steps <= 0) return;
  // From the newest to the oldest. That a packet sent again is there says when it was sent only if nothing unheard of
  // has arrived behind it: else it is the first try, and the peer was slow.
  bool rest_known = true;
  for (std::int32_t i = steps - 1; i >= 0; --i) {
    const wire::Psn psn = base_.plus(static_cast<std::uint32_t>(i));
    if (!there_.has(psn)) {
      if (rest_known || !resent_.has(psn)) note_arrived(psn);
      rest_known = false;
    }
    there_.clear(psn);
    resent_.clear(psn);
  }
  base_ = unacked;
  for (wire::Psn* p : {&newest_, &end_there_, &end_resent_}) {
    if (p->ahead_of(base_) < 0) *p = base_;
  }
}

void SenderRecord::sacked(wire::Psn psn, std::uint32_t run) {
  for (std::uint32_t i = 0; i < run; ++i) {
    const wire::Psn at = psn.minus(i);
    if (at.ahead_of(base_) < 0) break;
    if (there_.has(at)) continue;
    there_.set(at);
    note_arrived(at);
  }
  if (psn.plus(1).ahead_of(end_there_) > 0) end_there_ = psn.plus(1);
}

void SenderRecord::note_resent(wire::Psn from, std::uint32_t count, wire::Psn next) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const wire::Psn psn = from.plus(i);
    resent_.set(psn);
    resent_at_[place(psn)] = next;
  }
  if (from.plus(count).ahead_of(end_resent_) > 0) end_resent_ = from.plus(count);
}

}  // namespace weft::host
