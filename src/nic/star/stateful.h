// StaR's stateful side: the state of both ends, and every packet's fate. Each packet to the stateless card is
// answered by itself (RDA, GDA, EA); what is not answered is sent again. Losses are concluded from answers to what
// was sent later, or from silence.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "nic/completions.h"
#include "nic/core.h"
#include "nic/schedule/turn_budget.h"
#include "nic/star/contents.h"
#include "nic/star/link.h"
#include "nic/star/operations.h"
#include "nic/star/posted_entry.h"
#include "nic/star/waits.h"
#include "wire/lane_number.h"

namespace weft::nic {

template <World W>
class Stateful {
 public:
  using Side = StarLink::Side;
  Stateful(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  // ---- what every transport has (nic/card.h)

  [[nodiscard]] bool ready(Context& c) {
    StarLink& l = *c.link;
    if (!l.migrated) {
      wait_for_migration(c);
      return false;
    }
    if (l.lost != 0) return true;
    if (!has_room(c)) return false;
    if (l.dones_posted != l.dones_heard && !l.dones_under_way && !l.gone) return true;
    if (l.failing != StarLink::Failing::no) return false;
    if (l.wanted.raw() != 0 && !l.question_under_way) return true;
    return stream_ready(c, StarLink::own) || stream_ready(c, StarLink::remote);
  }

  void turn(Context& c, TurnBudget& budget) {
    StarLink& l = *c.link;
    if (!l.migrated) return;
    send_again(c, budget);
    if (l.dones_posted != l.dones_heard && !l.dones_under_way && !l.gone && has_room(c)) send_completions(c);
    if (l.wanted.raw() != 0 && !l.question_under_way && has_room(c)) ask(c);
    bool more = true;
    while (more && c.state != QpState::error) {
      more = false;
      for (const Side side : {StarLink::own, StarLink::remote}) more = send_some(c, side, budget) || more;
    }
    settle(c);
  }

  void on_packet(Context& c, const wire::Packet& p) {
    StarLink& l = *c.link;
    if (!wire::StarView::plain(p.headers)) {
      l.clock = wire::StarView::answer(p.headers).clock;
      l.clock_at = core_.now();
    }
    if (p.headers.bth.opcode == wire::Opcode::star_wqep) {
      on_wqep(c, p);
    } else {
      on_answer(c, p);
    }
    settle(c);
  }

  void on_deadline(Context& c) {
    StarLink& l = *c.link;
    const Time now = core_.now();
    discount_absence(l, now);
    if (!l.migrated) return wait_longer_for_migration(c);
    if (l.open != 0 && StarOperations<W>::own_waits(c) && now - l.heard_at >= waits_.patience(c)) return give_up(c);
    if (l.open != 0 && now - l.heard_at >= waits_.longest()) return operations_.forget_work(c);
    bool silent = false;
    const Time longest = waits_.timeout(c);
    for_each_open(c, [&](Flight& f) {
      if (f.lost || f.sent_at + longest > now) return;
      lose(l, f);
      silent = true;
    });
    if (silent) {
      core_.count(Counter::local_ack_timeout_err);
      if (l.backoff < kMostBackoff) ++l.backoff;
      l.window = std::max(l.window / 2, kLeastWindow);
    }
    unblock(l);
    if (StarOperations<W>::waits_for_receive(c) && is_long_silent(c)) ask_whether_there(c);
    settle(c);
  }

  // What is owed: an EA for the stateless side's posts.
  void acknowledge(Context& c) {
    StarLink& l = *c.link;
    if (!c.owes_ack || !l.migrated) return;
    c.owes_ack = false;
    wire::Headers& h = start(c, wire::Opcode::star_ea, wire::Psn{});
    h.bth.solicited = std::exchange(l.owes_migration_ack, false);
    guard(c, h, l.control, waits_.lifetime(c));
    wire::star_write(scratch_.data(), wire::StarHeard{l.works_posted, l.receives_posted, StarLink::kRemote,
                                                      l.registry.number(), l.control.epoch, l.remote_broken});
    core_.count(Counter::acks_sent);
    send_scratch(wire::StarHeard::kBytes);
  }

  // Nobody is there to speak with, for this reason.
  void give_up(Context& c, Refusal why = Refusal::retry_exceeded) {
    StarLink& l = *c.link;
    core_.count(Counter::retry_exceeded_err);
    const bool had_work = c.sq_done != c.sq_posted;
    operations_.forget_work(c);
    l.failing = StarLink::Failing::no;
    if (had_work) return completions_.fail_work(c, Status::retry_exceeded, why);
    core_.refuse(why);
    if (c.broken_by == Refusal::none) c.broken_by = why;
    core_.world.notify({EventKind::qp_fatal, c.qpn.raw()});
    completions_.break_off(c);
  }

  // Its program, or something else, has broken the queue pair.
  void abandon(Context& c) { operations_.forget_work(c); }

  void note_drained(Context& c) {
    if (c.state != QpState::sqd || c.drained) return;
    const StarStream& s = c.link->streams[StarLink::own];
    if (s.ended != s.begun || c.sq_done != c.sq_next) return;
    c.drained = true;
    if (c.drain_notify) core_.world.notify({EventKind::sq_drained, c.qpn.raw()});
  }

 private:
  static constexpr std::uint32_t kLeastWindow = 2;
  static constexpr std::uint8_t kMostBackoff = 6;

  // ---- time

  // Nothing is under way, and so nothing is answered.
  [[nodiscard]] bool is_long_silent(const Context& c) const {
    const StarLink& l = *c.link;
    const Time since = std::max(l.heard_at, l.streams[StarLink::own].not_ready_since);
    return l.open == 0 && !l.gone && l.failing == StarLink::Failing::no && c.ack_timeout != 0 &&
           core_.now() - since >= core_.state.config.ack_timeout(c.ack_timeout);
  }
  // If the first copy of a packet is answered after the second has been sent, that was sent for nothing (Eifel, RFC
  // 3522): the timeout grows, and what was taken from the window comes back.
  void time_answer(Context& c, const Flight& f, const wire::Bth& answer) {
    StarLink& l = *c.link;
    const bool tells_copies = f.kind != Flight::Kind::completions && f.kind != Flight::Kind::question;
    if (f.copies > (tells_copies ? 2 : 1)) return;
    const bool for_nothing = f.copies == 2 && !answer.solicited;
    if (for_nothing) l.window = std::min(2 * l.window, StarLink::kWindow);
    const Time sent_at = for_nothing ? l.twice[answer.psn.raw() % StarLink::kWindow].first_sent_at : f.sent_at;
    // What seems longer was a clock that stepped, or a card that stood still.
    const Time took = std::max<Time>(core_.now() - sent_at, 1);
    if (took <= waits_.longest_way(c)) l.learn(took);
  }
  // Time in which nobody drove this card is not the peer's silence: whoever stood still does not give its peers up.
  static void discount_absence(StarLink& l, Time now) {
    if (l.due < now) l.heard_at = std::min(now, l.heard_at + (now - l.due));
    l.due = kNever;
  }
  void set_timer(Context& c, Time when) {
    c.link->due = when;
    when == kNever ? core_.state.timers.disarm(core_.slot(c)) : core_.state.timers.arm(core_.slot(c), when);
  }
  void arm(Context& c) {
    StarLink& l = *c.link;
    discount_absence(l, core_.now());
    Time next = kNever;
    if (l.open != 0) {
      const Time longest = waits_.timeout(c);
      for_each_open(c, [&](const Flight& f) {
        if (!f.lost) next = std::min(next, f.sent_at + longest);
      });
      if (next == kNever) next = core_.now() + waits_.timeout(c);
    }
    next = std::min(next, StarOperations<W>::next_safe(l, core_.now()));
    for (const Side side : {StarLink::own, StarLink::remote}) {
      if (l.streams[side].not_ready_since == kNever || !StarOperations<W>::has_next(c, side)) continue;
      const std::uint8_t timer = side == StarLink::own ? l.min_rnr_timer : c.min_rnr_timer;
      next = std::min(next, core_.now() + core_.state.config.rnr_delay(timer));
    }
    set_timer(c, next);
  }
  void wait_for_migration(Context& c) {
    if (c.state != QpState::rts || c.sq_next == c.sq_posted || c.deadline != kNever || waits_.patience(c) == kNever)
      return;
    c.link->heard_at = core_.now();
    set_timer(c, core_.now() + core_.state.config.ack_timeout(c.ack_timeout));
  }
  void wait_longer_for_migration(Context& c) {
    if (c.sq_next == c.sq_posted || c.state != QpState::rts) return;
    if (core_.now() - c.link->heard_at >= waits_.patience(c)) return give_up(c);
    set_timer(c, core_.now() + core_.state.config.ack_timeout(c.ack_timeout));
  }
  // ---- who may send

  [[nodiscard]] bool has_room(Context& c) const {
    StarLink& l = *c.link;
    return l.open < l.window && c.next_psn.since(c.unacked_psn) < StarLink::kWindow;
  }
  [[nodiscard]] bool stream_ready(Context& c, Side side) const {
    StarStream& s = c.link->streams[side];
    if (s.sending()) return true;
    return !s.blocked && !s.full() && StarOperations<W>::has_next(c, side);
  }
  static void unblock(StarLink& l) { l.streams[0].blocked = l.streams[1].blocked = false; }

  // A packet of a side's work. False: there is none, or no room.
  bool send_some(Context& c, Side side, TurnBudget& budget) {
    StarLink& l = *c.link;
    StarStream& s = l.streams[side];
    if (l.failing != StarLink::Failing::no || budget.spent() || !stream_ready(c, side)) return false;
    if (!s.sending()) {
      if (!operations_.begin(c, side)) return !s.blocked && l.failing == StarLink::Failing::no;
      if (side == StarLink::own && s.begun - s.ended == 1) l.heard_at = core_.now();
      --budget.works;
      if (!s.sending()) return true;  // without packets
    }
    if (!has_room(c)) return false;
    const Flight f = operations_.next_flight(c, side);
    budget.bytes -= f.bytes;
    send(c, f);
    return true;
  }

  // ---- packets out

  wire::Headers& start(const Context& c, wire::Opcode opcode, wire::Psn psn) {
    wire::Headers& h = core_.start_packet(c, opcode, psn);
    core_.out.flow.to = wire::UdpPort::stateless;
    core_.world.touch(OnChip::rule, c.qpn.raw());  // the registry is asked about every packet
    h.bth.destination = c.qpn;                     // the stateful side's, in both directions
    h.reth = {};
    wire::StarView::set_opt(h, wire::StarOpt::send);
    wire::StarView::set_lane(h, wire::lane_number(c.link->remote_qpn));
    return h;
  }
  void guard(const Context& c, wire::Headers& h, const wire::Capability& shown, Time good_for) {
    const StarLink& l = *c.link;
    if (l.trusted) return show_nothing(c, h, shown);
    const Time since = core_.now() - l.clock_at + good_for;
    const std::uint64_t address = h.reth.address;
    const std::uint32_t length = h.reth.length;
    wire::StarView::set_guard(
        h, {shown, l.clock + static_cast<std::uint32_t>(since / waits_.microsecond()), incarnation_of(l.control.base)});
    h.reth.address = address;
    h.reth.length = length;
  }
  // The stateless card wants no capability. Where one would have named a block, ADDR does.
  static void show_nothing(const Context& c, wire::Headers& h, const wire::Capability& shown) {
    if (&shown == &c.link->control) h.reth.address = shown.base;
    wire::StarView::set_plain(h);
  }
  void send_scratch(std::size_t bytes) {
    core_.out.headers.reth.length = static_cast<std::uint32_t>(bytes);
    core_.send_passing(std::span(scratch_).first(bytes));
  }

  void send(Context& c, const Flight& f) {
    StarLink& l = *c.link;
    const wire::Psn psn = c.next_psn;
    c.next_psn = psn.plus(1);
    if (l.open == 0) l.heard_at = core_.now();
    ++l.open;
    l.flight(psn) = f;
    transmit(c, psn);
  }
  void transmit(Context& c, wire::Psn psn) {
    StarLink& l = *c.link;
    Flight& f = l.flight(psn);
    l.note_sent(psn, core_.now(), waits_.lifetime(c) + 2 * waits_.microsecond());
    switch (f.kind) {
      case Flight::Kind::completions: return transmit_completions(c, psn, f);
      case Flight::Kind::question: return transmit_question(c, psn, f);
      default: break;
    }
    const wire::Key unknown = contents_.unknown_key(c, f);
    if (unknown.raw() != 0) [[unlikely]]
      return await_rule(l, f, unknown);
    transmit_data(c, psn, f);
  }
  // A rule has been taken back. The packet leaves when the stateless side has said what its key opens now: it is as if
  // it had been sent before the question, so that the answer makes it count as lost.
  [[gnu::cold]] void await_rule(StarLink& l, Flight& f, wire::Key key) {
    l.wanted = key;
    f.sent_at = std::max<Time>(core_.now() - l.answer_time - 2 * waits_.microsecond(), 1);
  }
  void transmit_data(Context& c, wire::Psn psn, const Flight& f) {
    const bool pulls = f.kind == Flight::Kind::pull;
    wire::Headers& h = start(c, pulls ? wire::Opcode::star_gd : wire::Opcode::star_rd, psn);
    wire::Capability shown;
    const Refusal r = contents_.fill(c, f, shown);
    if (r != Refusal::none) return fail_flight(c, psn, r);
    const bool atomic = f.kind == Flight::Kind::atomic;
    wire::StarView::set_opt(h, atomic ? wire::StarOpt::atomic : pulls ? wire::StarOpt::read : wire::StarOpt::write);
    h.bth.ack_request = true;
    h.bth.solicited = f.copies == 2;
    guard(c, h, shown, waits_.lifetime(c));
    core_.send_packet();
    core_.out.payload = {};
  }
  // Our own gate does not let us read what is to be sent, or no rule lets the packet leave.
  [[gnu::cold, gnu::noinline]] void fail_flight(Context& c, wire::Psn psn, Refusal why) {
    StarLink& l = *c.link;
    Flight f = l.flight(psn);
    close(c, psn);
    Operation& op = l.streams[f.stream].at(f.operation);
    --op.flights;
    op.failed = true;
    op.status = f.stream == StarLink::own && why != Refusal::star_not_registered ? Status::local_protection
                                                                                 : Status::remote_access;
    op.reason = why;
  }
  // One that breaks the stateless side is the last of its CQEP. What is announced behind it comes too late, and the
  // answer to the next CQEP says so.
  void send_completions(Context& c) {
    StarLink& l = *c.link;
    constexpr std::uint32_t most = wire::kStarControlBytes / wire::StarDone::kBytes;
    const std::uint32_t count = std::min(l.dones_posted - l.dones_heard, most);
    constexpr auto success = static_cast<std::uint8_t>(Status::success);
    std::uint32_t n = 1;
    while (n < count && l.dones[(l.dones_heard + n - 1) % StarLink::kDones].status == success) ++n;
    l.dones_under_way = true;
    send(c, {.kind = Flight::Kind::completions, .offset = l.dones_heard, .bytes = n});
  }
  // Who has ended posts no receive. In other transports what waits for one is sent again and again, which asks, too;
  // here an empty CQEP does, which is answered as any.
  void ask_whether_there(Context& c) {
    StarLink& l = *c.link;
    l.dones_under_way = true;
    send(c, {.kind = Flight::Kind::completions, .offset = l.dones_heard});
  }
  void transmit_completions(Context& c, wire::Psn psn, const Flight& f) {
    StarLink& l = *c.link;
    std::size_t at = 0;
    for (std::uint32_t i = f.offset; i != f.offset + f.bytes; ++i, at += wire::StarDone::kBytes) {
      wire::star_write(scratch_.data() + at, l.dones[i % StarLink::kDones]);
    }
    wire::Headers& h = start(c, wire::Opcode::star_cqep, psn);
    guard(c, h, l.control, waits_.lifetime(c));
    send_scratch(at);
  }
  // What may this connection do with a key that its program has?
  void ask(Context& c) {
    c.link->question_under_way = true;
    send(c, {.kind = Flight::Kind::question, .offset = c.link->wanted.raw()});
  }
  void transmit_question(Context& c, wire::Psn psn, const Flight& f) {
    wire::Headers& h = start(c, wire::Opcode::star_cqep, psn);
    h.bth.solicited = true;
    guard(c, h, c.link->control, waits_.lifetime(c));
    wire::star_write(scratch_.data(), wire::StarQuestion{wire::Key(f.offset)});
    send_scratch(wire::StarQuestion::kBytes);
  }
  void send_again(Context& c, TurnBudget& budget) {
    StarLink& l = *c.link;
    for (wire::Psn psn = c.unacked_psn; l.lost != 0 && psn != c.next_psn && !budget.spent(); psn = psn.plus(1)) {
      Flight& f = l.flight(psn);
      if (f.kind == Flight::Kind::none || !f.lost) continue;
      f.lost = false;
      --l.lost;
      budget.bytes -= f.bytes;
      core_.count(Counter::retransmitted_pkts);
      transmit(c, psn);
    }
  }
  // Packets that have not been answered are few, and the table of all is long.
  template <class Visit>
  static void for_each_open(Context& c, Visit&& visit) {
    for (wire::Psn psn = c.unacked_psn; psn != c.next_psn; psn = psn.plus(1)) {
      if (Flight& f = c.link->flight(psn); f.kind != Flight::Kind::none) visit(f);
    }
  }
  static void lose(StarLink& l, Flight& f) {
    f.lost = true;
    ++l.lost;
  }

  // ---- answers in

  void on_answer(Context& c, const wire::Packet& p) {
    StarLink& l = *c.link;
    const wire::Psn psn = p.headers.bth.psn;
    if (!l.migrated || psn.since(c.unacked_psn) >= c.next_psn.since(c.unacked_psn) || !fits(l.flight(psn), p)) {
      if (p.headers.bth.opcode == wire::Opcode::star_rda) StarOperations<W>::hear_other_copy(l, p.headers.bth);
      return core_.refuse(Refusal::star_ghost);
    }
    const Flight f = l.flight(psn);
    if (f.kind == Flight::Kind::question && !is_sealed_grant(c, p)) return core_.refuse(Refusal::star_bad_seal);
    core_.count(Counter::acks_rcvd);
    time_answer(c, f, p.headers.bth);
    l.heard_at = core_.now();  // who says that a packet came too late is there, too
    if (wire::StarView::answer(p.headers).refusal == Refusal::star_expired) return came_late(l, psn);
    l.backoff = 0;
    if (renews(c, f, p)) return;
    close(c, psn);
    if (l.window < StarLink::kWindow) ++l.window;
    conclude_losses(c, f);
    switch (f.kind) {
      case Flight::Kind::completions: return completions_heard(c, f, p);
      case Flight::Kind::question: return granted(c, f, p);
      default: return operations_.answered(c, f, p);
    }
  }
  [[nodiscard]] static bool fits(const Flight& f, const wire::Packet& p) {
    const wire::Opcode o = p.headers.bth.opcode;
    switch (f.kind) {
      case Flight::Kind::none: return false;
      case Flight::Kind::push:
      case Flight::Kind::atomic: return o == wire::Opcode::star_rda;
      case Flight::Kind::pull: return o == wire::Opcode::star_gda;
      case Flight::Kind::completions: return o == wire::Opcode::star_ea_up && !p.headers.bth.solicited;
      case Flight::Kind::question: return o == wire::Opcode::star_ea_up && p.headers.bth.solicited;
    }
    return false;
  }
  // The stateless card's clock is further than we thought: the two run apart while a connection is idle, or one stood
  // still. The answer tells the time, so the packet is sent again with a later expiry. Or its way takes longer than it
  // may live: a longer timeout gives it a longer life.
  static void came_late(StarLink& l, wire::Psn psn) {
    Flight& f = l.flight(psn);
    if (!f.lost) lose(l, f);
    if (l.backoff < kMostBackoff) ++l.backoff;
    unblock(l);
  }
  // The epoch of its capability has ended: a new one is asked for, and the packet is sent again with it.
  [[nodiscard]] bool renews(Context& c, const Flight& f, const wire::Packet& p) {
    StarLink& l = *c.link;
    if (wire::StarView::answer(p.headers).refusal != Refusal::star_stale_epoch) return false;
    if (f.kind == Flight::Kind::completions || f.kind == Flight::Kind::question) return true;  // the state moves anew
    const auto side = static_cast<Side>(f.stream);
    const Operation& op = l.streams[side].at(f.operation);
    if (!StarContents<W>::is_by_key(side, op.kind)) return true;  // the side that gave it posts it anew
    l.wanted = wire::Key(contents_.work(c, op).key);
    l.registry.forget(l.wanted);
    return true;
  }
  void close(Context& c, wire::Psn psn) {
    StarLink& l = *c.link;
    Flight& f = l.flight(psn);
    if (f.lost) --l.lost;
    --l.open;
    f = Flight{};
    while (c.unacked_psn != c.next_psn && l.flight(c.unacked_psn).kind == Flight::Kind::none) {
      c.unacked_psn = c.unacked_psn.plus(1);
    }
  }
  // What was sent well before something that has been answered is lost.
  void conclude_losses(Context& c, const Flight& answered) {
    StarLink& l = *c.link;
    if (l.open == 0) return;
    const Time reordering = std::max(l.answer_time / 4, waits_.microsecond());
    bool any = false;
    for_each_open(c, [&](Flight& f) {
      if (f.lost || f.sent_at + reordering >= answered.sent_at) return;
      lose(l, f);
      any = true;
    });
    if (any) l.window = std::max(l.window / 2, kLeastWindow);
  }

  void completions_heard(Context& c, const Flight& f, const wire::Packet& p) {
    StarLink& l = *c.link;
    l.dones_under_way = false;
    if (wire::StarView::answer(p.headers).refusal != Refusal::none) return stateless_side_gone(c);
    l.dones_heard = f.offset + f.bytes;
    unblock(l);
  }
  void granted(Context& c, const Flight& f, const wire::Packet& p) {
    StarLink& l = *c.link;
    l.question_under_way = false;
    const wire::Key key(f.offset);
    const Refusal said = wire::StarView::answer(p.headers).refusal;
    if (said == Refusal::star_no_such_block || said == Refusal::star_peer_gone) return stateless_side_gone(c);
    unblock(l);
    StarRule rule{.shown = {.key = key}, .is_fresh = true};
    if (said == Refusal::none) {
      const auto grant = wire::star_read<wire::StarGrant>(p.payload.near(), 0);
      const auto newer = static_cast<std::int32_t>(grant.rules - l.registry.number());
      if (newer < 0 || grant.key != key) return;  // it has been taken back since: who wants it asks again
      if (newer > 0) l.registry.begin(grant.rules, l.registry.domain());
      rule.shown = {.key = key, .rights = grant.rights, .epoch = grant.epoch, .mac = grant.mac};
      rule.base = grant.base;
      rule.length = grant.length;
      rule.domain = grant.domain;
      rule.is_window = grant.is_window;
    }
    contents_.keep_rule(c, rule);  // without rights: a refusal is remembered until the work that asked has failed
    if (l.wanted == key) l.wanted = wire::Key{};
  }
  // A refusal opens nothing, and has no seal.
  [[nodiscard]] static bool is_sealed_grant(const Context& c, const wire::Packet& p) {
    if (wire::StarView::answer(p.headers).refusal != Refusal::none) return true;
    if (p.payload.size() != wire::StarGrant::kBytes) return false;
    const auto said = p.payload.near();
    return is_sealed(wire::star_read<wire::StarGrant>(said, 0).seal, c.link->seal_key, c.qpn, p.headers.bth.psn,
                     said.first<wire::StarGrant::kSealed>());
  }
  // The stateless side knows nothing of this connection any more.
  void stateless_side_gone(Context& c) {
    StarLink& l = *c.link;
    l.remote_broken = l.gone = true;
    if (l.failing == StarLink::Failing::no && c.sq_done != c.sq_posted) {
      operations_.begin_failing(c, StarLink::Failing::own_work, Status::retry_exceeded, Refusal::star_peer_gone);
    }
  }

  // ---- the stateless side's posts

  void on_wqep(Context& c, const wire::Packet& p) {
    StarLink& l = *c.link;
    const auto payload = p.payload.near();
    Refusal why = Refusal::none;
    if (p.headers.bth.solicited) {
      why = payload.size() == wire::StarInitial::kBytes ? Refusal::none : Refusal::star_bad_payload;
      if (why == Refusal::none) why = migrate(c, payload);
    } else if (!l.migrated) {
      why = Refusal::star_not_migrated;
    } else {
      why = take_star_posts(core_, l, payload);
    }
    if (why != Refusal::none) core_.refuse(why);
    if (why == Refusal::star_bad_payload || why == Refusal::star_not_migrated || why == Refusal::star_bad_seal) return;
    unblock(l);
    c.owes_ack = true;
    core_.queue_acknowledgement(c);
  }
  // The first state brings the key that all others are sealed with.
  [[nodiscard]] Refusal migrate(Context& c, std::span<const std::byte> payload) {
    StarLink& l = *c.link;
    const auto initial = wire::star_read<wire::StarInitial>(payload, 0);
    if (initial.era != l.era) return Refusal::star_not_migrated;
    const bool first = !l.migrated;
    const wire::StarMac& key = first ? initial.key : l.seal_key;
    if (!is_sealed(initial.seal, key, c.qpn, {}, payload.first<wire::StarInitial::kSealed>())) {
      return Refusal::star_bad_seal;
    }
    l.seal_key = key;
    l.migrated = true;
    l.owes_migration_ack = true;
    l.remote_qpn = initial.qpn;
    if (first || static_cast<std::int8_t>(initial.epoch - l.control.epoch) >= 0) {  // otherwise it comes late
      l.control = {
          .rights = wire::StarRights::control, .epoch = initial.epoch, .base = initial.block, .mac = initial.control};
    }
    l.rnr_retry = initial.rnr_retry;
    l.min_rnr_timer = initial.min_rnr_timer;
    l.saved = initial.saved;
    if (first) l.heard_at = core_.now();
    const auto newer = static_cast<std::int32_t>(initial.rules - l.registry.number());
    if (first || newer > 0) l.registry.begin(initial.rules, initial.domain);
    if (initial.broken) l.remote_broken = true;
    l.trusted = initial.trusts;
    return Refusal::none;
  }
  // ---- after everything

  void settle(Context& c) {
    if (c.state == QpState::error || !c.link->migrated) return;
    StarLink& l = *c.link;
    for (const Side side : {StarLink::own, StarLink::remote}) {
      if (operations_.ripen(c, side)) unblock(l);
      if (c.state == QpState::error) return;
    }
    operations_.complete_own(c);
    if (c.state == QpState::error) return;
    operations_.finish_failing(c);
    if (c.state == QpState::error) return;
    note_drained(c);
    if (ready(c)) core_.schedule(c);
    arm(c);
  }

  Core<W>& core_;
  Completions<W>& completions_;
  StarWaits waits_{core_.state.config};
  StarContents<W> contents_{core_};
  StarOperations<W> operations_{core_, completions_, contents_};
  std::array<std::byte, wire::kStarControlBytes> scratch_;
};

}  // namespace weft::nic
