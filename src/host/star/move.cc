#include "host/star/move.h"

namespace weft::host {

void Move::enter(Phase phase, Time now, Time limit) {
  phase_ = phase;
  until_ = phase == Phase::idle || limit == kNever ? kNever : now + limit;
  wait_ = times_.first;
  look_ = times_.look;
  again_ = phase == Phase::idle ? kNever : now + wait_;
  plan(now);
}

void Move::plan(Time now) {
  const bool looks = phase_ == Phase::emptying || phase_ == Phase::draining;
  const bool repeats = phase_ != Phase::draining && phase_ != Phase::ready;
  next_ = until_;
  if (repeats) next_ = std::min(next_, again_);
  if (looks) next_ = std::min(next_, now + look_);
}

Move::Orders Move::begin(Time now, const wire::MoveTarget& target) {
  if (phase_ != Phase::idle) return {};
  ++own_;
  has_asked_ = true;
  peer_is_ready_ = false;
  target_ = target;
  enter(Phase::asking, now, times_.asking);
  return {.says = word(Kind::ask, own_)};
}

Move::Orders Move::hear(Time now, const Own& own, const wire::MoveMad& m) {
  switch (m.kind) {
    case Kind::ask: return hear_ask(now, own, m);
    case Kind::drain:
    case Kind::ready: return hear_willing(now, own, m);
    case Kind::commit: return hear_commit(now, own, m);
    case Kind::done: return hear_done(m);
    default: return hear_end(m);
  }
}

// ---- the other side's part

Move::Orders Move::hear_ask(Time now, const Own& own, const wire::MoveMad& m) {
  if (known_ != Known::nothing && is_older(m.generation, peers_)) return {};
  if (known_ != Known::nothing && m.generation == peers_) {  // again
    if (phase_ == Phase::draining) return {.says = word(Kind::drain, peers_)};
    if (phase_ == Phase::ready) return {.says = word(Kind::ready, peers_)};
    return known_ == Known::refused ? Orders{.says = word(Kind::refuse, peers_)} : Orders{};
  }
  // The peer answers ours before it asks for anything of its own.
  if (phase_ == Phase::emptying || phase_ == Phase::committing) return {};
  if (phase_ == Phase::asking && wins_ties_) return {};
  const bool was_held = is_held(), was_asking = phase_ == Phase::asking;
  peers_ = m.generation;
  has_asked_ = false;
  target_ = m.target;
  if (!own.is_willing) {
    known_ = Known::refused;
    enter(Phase::idle, now, 0);
    return {.releases = was_held, .refused = was_asking, .says = word(Kind::refuse, peers_)};
  }
  known_ = Known::under_way;
  enter(Phase::draining, now, times_.holding);
  Orders orders = go_on(now, own);
  if (!orders.says) orders.says = word(Kind::drain, peers_);
  orders.holds = !was_held;
  return orders;
}

Move::Orders Move::hear_commit(Time now, const Own& own, const wire::MoveMad& m) {
  const bool is_this = known_ != Known::nothing && m.generation == peers_;
  if (is_this && phase_ == Phase::ready) {
    if (!own.is_willing || !own.is_quiet) return go_back(Kind::refuse);
    own_numbers_ = own.numbers;
    peer_numbers_ = m.numbers;
    enter(Phase::changed, now, times_.patience);
    return {.changes = true, .says = word(Kind::done, peers_)};
  }
  if (is_this && phase_ == Phase::changed) return {.says = word(Kind::done, peers_)};
  if (is_this && known_ == Known::done) return {};
  if (is_this && phase_ == Phase::draining) return go_back(Kind::refuse);
  if (known_ != Known::nothing && is_older(m.generation, peers_)) return {};
  // We have gone back, or know nothing of it. If we follow the peer in a later move, this is not one it waits for.
  if (phase_ != Phase::draining && phase_ != Phase::ready && phase_ != Phase::changed) {
    peers_ = m.generation;
    known_ = Known::refused;
  }
  return {.says = word(Kind::refuse, m.generation)};
}

// ---- the asker's part

Move::Orders Move::hear_willing(Time now, const Own& own, const wire::MoveMad& m) {
  const bool is_this = is_asker() && m.generation == own_;
  if (!is_this) return {.says = word(Kind::cancel, m.generation)};
  if (phase_ == Phase::committing) return {};
  const bool begins = phase_ == Phase::asking;
  peer_is_ready_ = peer_is_ready_ || m.kind == Kind::ready;
  if (begins) enter(Phase::emptying, now, times_.emptying);
  Orders orders = go_on(now, own);
  orders.holds = begins && phase_ != Phase::idle;
  return orders;
}

Move::Orders Move::hear_done(const wire::MoveMad& m) {
  if (phase_ == Phase::committing && m.generation == own_) {
    peer_numbers_ = m.numbers;
    last_done_ = own_;
    enter(Phase::idle, 0, 0);
    return {.changes = true, .releases = true, .says = word(Kind::confirm, own_)};
  }
  return m.generation == last_done_ ? Orders{.says = word(Kind::confirm, last_done_)} : Orders{};
}

// ---- ends

Move::Orders Move::hear_end(const wire::MoveMad& m) {
  if (m.kind == Kind::refuse) {
    if (!is_asker() || m.generation != own_) return {};
    const bool was_held = is_held();
    enter(Phase::idle, 0, 0);
    return {.releases = was_held, .refused = true};
  }
  if (known_ == Known::nothing || m.generation != peers_) return {};
  if (m.kind == Kind::confirm && phase_ == Phase::changed) {
    known_ = Known::done;
    enter(Phase::idle, 0, 0);
    return {.releases = true};
  }
  if (m.kind == Kind::cancel && (phase_ == Phase::draining || phase_ == Phase::ready)) {
    known_ = Known::refused;
    enter(Phase::idle, 0, 0);
    return {.releases = true};
  }
  return {};
}

// The old dialect goes on, and the peer is told.
Move::Orders Move::go_back(Kind says) {
  const bool asked = is_asker(), was_held = is_held();
  if (!asked) known_ = Known::refused;
  enter(Phase::idle, 0, 0);
  return {.releases = was_held, .refused = asked, .says = word(says, asked ? own_ : peers_)};
}

// Whoever has nothing under way says so.
Move::Orders Move::go_on(Time now, const Own& own) {
  if (!own.is_quiet) return {};
  if (phase_ == Phase::draining) {
    enter(Phase::ready, now, until_ - now);
    return {.says = word(Kind::ready, peers_)};
  }
  if (phase_ != Phase::emptying || !peer_is_ready_) return {};
  if (!own.is_willing) return go_back(Kind::cancel);
  own_numbers_ = own.numbers;
  enter(Phase::committing, now, times_.patience);
  return {.says = word(Kind::commit, own_)};
}

Move::Orders Move::on_time(Time now, const Own& own) {
  if (phase_ == Phase::idle || now < next_) return {};
  const bool has_no_way_back = phase_ == Phase::committing || phase_ == Phase::changed;
  // While nobody looked at the time nobody heard the peer either.
  if (has_no_way_back && until_ != kNever) until_ += now - next_;
  const bool over = now >= until_;
  if (has_no_way_back) {
    if (over) {
      enter(Phase::idle, now, 0);
      return {.breaks = true};
    }
    wait_ = std::min(2 * wait_, times_.longest);
    again_ = now + wait_;
    plan(now);
    return {.says = phase_ == Phase::committing ? word(Kind::commit, own_) : word(Kind::done, peers_)};
  }
  if (over || !own.is_willing) return go_back(is_asker() ? Kind::cancel : Kind::refuse);
  Orders orders = go_on(now, own);
  if (!orders.says && is_asker() && now >= again_) {
    wait_ = std::min(2 * wait_, times_.longest);
    again_ = now + wait_;
    orders.says = word(Kind::ask, own_);
  }
  look_ = std::min(2 * look_, times_.longest);
  plan(now);
  return orders;
}

std::optional<wire::MoveMad> said_for_nobody(const wire::MoveMad& m) {
  using Kind = wire::MoveMad::Kind;
  wire::MoveMad out = m;
  out.from = m.about;
  out.about = m.from;
  switch (m.kind) {
    case Kind::ask:
    case Kind::commit: out.kind = Kind::refuse; return out;
    case Kind::drain:
    case Kind::ready: out.kind = Kind::cancel; return out;
    case Kind::done: out.kind = Kind::confirm; return out;  // it goes on, and finds out by itself
    default: return std::nullopt;
  }
}

}  // namespace weft::host
