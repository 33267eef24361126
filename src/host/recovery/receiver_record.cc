#include "host/recovery/receiver_record.h"

#include <algorithm>

namespace weft::host {

void ReceiverRecord::restart(wire::Psn expected) {
  base_ = end_ = expected;
  here_.clear();
  holes_.clear();
  news_.clear();
  tellings_ = 0;
}

std::optional<wire::Psn> ReceiverRecord::arrived(wire::Psn psn, wire::Psn expected) {
  // The card has moved on, and we missed it; so far on, perhaps, that it looks as if it were behind us.
  const std::int32_t behind = base_.ahead_of(expected);
  if (behind >= static_cast<std::int32_t>(PacketBitmap::kBits)) restart(expected);
  if (behind < 0) move_base(expected);
  const std::int32_t ahead = psn.ahead_of(base_);
  if (ahead >= static_cast<std::int32_t>(PacketBitmap::kBits)) return std::nullopt;
  if (ahead >= 0) note(psn);
  const wire::Psn missing = here_.first_missing(base_, end_);
  if (missing == base_) return std::nullopt;
  move_base(missing);
  return base_;
}

void ReceiverRecord::note(wire::Psn psn) {
  if (psn.ahead_of(end_) > 0) note_gap(end_, psn);
  if (psn.ahead_of(end_) >= 0) end_ = psn.plus(1);
  note_filled(psn);
  here_.set(psn);
  tell_of_lost();
}

void ReceiverRecord::move_base(wire::Psn to) {
  const std::uint32_t steps = std::min(to.since(base_), PacketBitmap::kBits);
  for (std::uint32_t i = 0; i < steps; ++i) here_.clear(base_.plus(i));
  base_ = to;
  if (end_.ahead_of(base_) < 0) end_ = base_;
  std::erase_if(holes_, [this](const Hole& h) { return h.psn.ahead_of(base_) < 0; });
}

void ReceiverRecord::note_gap(wire::Psn from, wire::Psn end) {
  const std::uint32_t count = end.since(from);
  for (std::uint32_t i = 0; i < count; ++i) holes_.push_back({from.plus(i), 0});
}

void ReceiverRecord::tell_of_lost() {
  const wire::Psn newest = end_.minus(1);
  const std::uint32_t telling = tellings_ + 1;
  for (Hole& h : holes_) {
    if (h.told != 0 || newest.ahead_of(h.psn) < kRoom) continue;
    tellings_ = h.told = telling;
    tell(h);
  }
}

void ReceiverRecord::tell(Hole& hole) {
  if (!news_.empty() && news_.back().psn.plus(news_.back().count) == hole.psn) {
    ++news_.back().count;
  } else {
    news_.push_back({hole.psn, 1});
  }
}

// What was asked for later has come, and what was asked for before has not: it was lost again.
void ReceiverRecord::note_filled(wire::Psn psn) {
  const auto hole = std::find_if(holes_.begin(), holes_.end(), [psn](const Hole& h) { return h.psn == psn; });
  if (hole == holes_.end()) return;
  const std::uint32_t told = hole->told;
  holes_.erase(hole);
  if (told == 0) return;
  ++tellings_;
  for (Hole& h : holes_) {
    if (h.told == 0 || h.told >= told) continue;
    h.told = tellings_;
    tell(h);
  }
}

}  // namespace weft::host
