#include "host/recovery/sender_record.h"

#include <algorithm>
#include <bit>

namespace weft::host {

// What resent_at_ says counts only where resent_ has a bit.
void SenderRecord::restart(wire::Psn unacked, std::uint32_t window) {
  base_ = newest_ = proven_ = end_there_ = end_resent_ = unacked;
  there_.clear();
  forget_resending();
  resent_at_.resize(std::bit_ceil(std::clamp(window, 1U, PacketBitmap::kBits)));
}

void SenderRecord::note_arrived(wire::Psn psn) {
  const wire::Psn when = sent_at(psn).earliest;
  if (when.ahead_of(newest_) > 0) newest_ = when;
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
    asked_for_.clear(psn);
    resent_.clear(psn);
  }
  base_ = unacked;
  for (wire::Psn* p : {&newest_, &proven_, &end_there_, &end_resent_}) {
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

void SenderRecord::note_asked(wire::Psn from, std::uint32_t count, std::uint16_t entry, wire::Psn next) {
  for (std::uint32_t i = 0; i < count; ++i) asked_for_.set(from.plus(i));
  asked_.push_back({from, next, count, entry});
  if (from.plus(count).ahead_of(end_resent_) > 0) end_resent_ = from.plus(count);
}

void SenderRecord::note_sent(std::uint16_t end, wire::Psn next) {
  std::size_t done = 0;
  for (; done != asked_.size() && static_cast<std::int16_t>(end - asked_[done].entry) > 0; ++done) {
    const Asked& sent = asked_[done];
    for (std::uint32_t i = 0; i < sent.count; ++i) {
      const wire::Psn psn = sent.from.plus(i);
      if (psn.ahead_of(base_) < 0 || !asked_for_.has(psn)) continue;
      asked_for_.clear(psn);
      resent_.set(psn);
      resent_at_[place(psn)] = {sent.next, next};
    }
  }
  asked_.erase(asked_.begin(), asked_.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace weft::host
