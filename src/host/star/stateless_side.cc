#include "host/star/stateless_side.h"

#include <algorithm>

#include "nic/star/link.h"

namespace weft::host {

using nic::StatelessBlock;

StatelessSide::StatelessSide(nic::CardState& card, std::uint32_t most)
    : card_(card),
      closings_seen_(closings()),
      blocks_(most),
      recent_data_(card.config.star_recent, card.config.nanosecond),
      told_at_(most, 0),
      slots_(most),
      rung_(most),
      timers_(blocks_, card.config.nanosecond) {
  card_.blocks = &blocks_;
  card_.rung_blocks = &rung_;
  card_.recent_data = &recent_data_;
}

StatelessBlock& StatelessSide::make(std::uint32_t number) {
  StatelessBlock& b = blocks_.make(number);
  b.context.make_stateless();
  b.context.timer = number;
  b.generation = ++generation_;
  told_at_[number] = 0;
  return b;
}

void StatelessSide::give_back(StatelessBlock& b) {
  const std::uint32_t number = blocks_.slot_of(b);
  timers_.remove(number);
  rung_.remove(number);
  blocks_.erase(number);
  slots_.give_back(number);
}

void StatelessSide::renew(StatelessBlock& b) {
  const std::uint32_t number = blocks_.slot_of(b);
  const bool rung = b.context.rung;
  const std::uint32_t slot = b.slot;
  timers_.remove(number);
  blocks_.make(number);
  b.context.make_stateless();
  b.context.timer = number;
  b.slot = slot;
  b.context.rung = rung;  // it still stands among those that are to be heard
  b.generation = ++generation_;
}

void StatelessSide::renew_capabilities() {
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    StatelessBlock& b = blocks_[i];
    if (b.context.qpn.raw() == 0 || b.room == 0) continue;
    b.works_told = b.works_heard = b.context.sq_done;
    b.receives_told = b.receives_heard = b.context.rq_done;
    migrate(b);
  }
}

// Peers that have been granted something forget all of it, and ask again: the state moves anew, which is said until it
// is heard. Others are not told.
void StatelessSide::take_back_rules() {
  closings_seen_ = closings();
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    StatelessBlock& b = blocks_[i];
    if (b.context.qpn.raw() == 0 || !b.granted || b.room == 0) continue;
    ++b.rules;
    b.granted = false;
    if (b.context.state != nic::QpState::error) migrate(b);
  }
}

// How long an answer may take before everything is said again. Twice as long each time.
Time StatelessSide::interval(const StatelessBlock& b) const {
  constexpr std::uint8_t kMostDoublings = 7;
  const Time first = std::max({200'000 * card_.config.nanosecond, 2 * card_.config.star_silence, 3 * answer_time_});
  const nic::Context& c = b.context;
  const Time most =
      c.state == nic::QpState::rts && c.ack_timeout != 0 ? card_.config.ack_timeout(c.ack_timeout) : kNever;
  // Whoever has not taken the state yet has nothing of us but copies of it, and gives us up after its own retries,
  // which may be few: however late answers have become, some copies are to reach it before that.
  const Time longest = b.room == 0 ? std::min(most, 250'000'000 * card_.config.nanosecond) : most;
  const Time usual = std::min(first << std::min(b.reposts, kMostDoublings), longest);
  // Nothing waits but work that is under way: its silence is noticed in time.
  return b.waits_for_answer() || b.breaking ? usual : card_.config.ack_timeout(c.ack_timeout);
}

// Of what was said before: when something was heard since. One that was said again tells nothing.
void StatelessSide::learn_answer_time(const StatelessBlock& b, Time now) {
  Time& told_at = told_at_[blocks_.slot_of(b)];
  if (told_at != 0 && b.reposts == 0 && b.silent_since > told_at) {
    answer_time_ += (b.silent_since - told_at - answer_time_) / 16;
  }
  told_at = b.watched ? 0 : now;
}

void StatelessSide::watch(StatelessBlock& b, Time now) {
  const bool waits = b.waits_for_answer() || b.has_limit();
  if (!waits && !b.breaking) return;
  discount_absence(b, now);
  learn_answer_time(b, now);
  if (!b.watched) b.silent_since = now;
  b.watched = true;
  b.due = now + interval(b);
  timers_.arm(blocks_.slot_of(b), b.due);
}

// While nobody drove this lane it could hear nothing: that is not the peer's silence. A stopped program, or a machine
// that stood still, must not give its peers up when it goes on.
void StatelessSide::discount_absence(StatelessBlock& b, Time now) {
  if (b.due < now) b.silent_since = std::min(now, b.silent_since + (now - b.due));
  b.due = kNever;
}

// As long as any requester would have tried.
bool StatelessSide::has_waited_enough(const StatelessBlock& b, Time now) const {
  const nic::Context& c = b.context;
  if (!b.has_limit()) return false;
  return now - b.silent_since >= nic::star_patience(card_.config.ack_timeout(c.ack_timeout), c.retry_count);
}

void StatelessSide::break_off(StatelessBlock& b, nic::Status status, Refusal why) {
  b.context.broken_by = why;
  b.context.state = nic::QpState::error;
  b.break_status = status;
  b.break_reason = why;
  ring(b.context);
}

void StatelessSide::on_time(Time now) {
  for (std::uint32_t i = timers_.pop_due(now); i != nic::kNone; i = timers_.pop_due(now)) {
    StatelessBlock& b = blocks_[i];
    nic::Context& c = b.context;
    discount_absence(b, now);
    if (b.breaking) {
      ring(c);
      continue;
    }
    // A receiver never breaks because its peer is silent, but after a minute it says no more.
    const bool speaks = b.has_limit() || now - b.silent_since < 60'000'000'000 * card_.config.nanosecond;
    b.watched = speaks && (b.waits_for_answer() || b.has_limit());
    if (!b.watched) continue;
    // A broken one tells so a few times: the stateful side may be gone itself.
    constexpr std::uint8_t kTellings = 8;
    if (c.state == nic::QpState::error) {
      b.wants_migration = b.wants_migration && ++b.reposts < kTellings;
    } else if (has_waited_enough(b, now)) {
      card_.counters.add(Refusal::retry_exceeded);
      card_.counters.add(nic::Counter::retry_exceeded_err);
      break_off(b, nic::Status::retry_exceeded, Refusal::retry_exceeded);
    } else {
      if (b.waits_for_answer()) card_.counters.add(nic::Counter::local_ack_timeout_err);
      b.asks = !b.waits_for_answer();
      b.works_told = b.works_heard;
      b.receives_told = b.receives_heard;
      if (b.reposts < 255) ++b.reposts;
    }
    ring(c);
  }
}

}  // namespace weft::host
