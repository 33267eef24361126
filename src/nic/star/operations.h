// Work of both sides of a StaR connection, as the stateful card carries it out: which may begin, which packets it
// takes, and how it ends. Bytes that go to the stateless side are pushed (RD), those that come from it
// are pulled (GD):
//                 posted here        posted by the stateless side
//   SEND, WRITE   push               pull
//   READ          pull               push
//   atomics       an RD that is one  done here, the result is pushed
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "nic/completions.h"
#include "nic/core.h"
#include "nic/host_memory.h"
#include "nic/rc/admit.h"
#include "nic/rc/local_work.h"
#include "nic/rc/send_queue.h"
#include "nic/star/contents.h"
#include "nic/star/hazards.h"
#include "nic/star/link.h"

namespace weft::nic {

template <World W>
class StarOperations {
 public:
  using Side = StarLink::Side;
  StarOperations(Core<W>& core, Completions<W>& completions, StarContents<W>& contents)
      : core_(core), completions_(completions), contents_(contents) {}

  // ---- beginning

  [[nodiscard]] static bool has_next(const Context& c, Side side) {
    const StarLink& l = *c.link;
    if (side == StarLink::own) return c.state == QpState::rts && c.sq_next != c.sq_posted;
    return !l.remote_broken && l.streams[side].begun != l.works_posted;
  }

  // A receive that the stateless side has not posted.
  [[nodiscard]] static bool waits_for_receive(const Context& c) {
    return c.link->streams[StarLink::own].not_ready_since != kNever && has_next(c, StarLink::own);
  }
  // Own work has a limit. The stateless side's has its own, over there: a responder gives nothing up.
  [[nodiscard]] static bool own_waits(const Context& c) {
    const StarStream& s = c.link->streams[StarLink::own];
    return s.begun != s.ended || waits_for_receive(c) || c.link->wanted.raw() != 0;
  }

  // Begins the next work of a side. False: it must wait, has failed, or needs no packet.
  [[nodiscard]] bool begin(Context& c, Side side) {
    StarLink& l = *c.link;
    StarStream& s = l.streams[side];
    Operation op;
    op.entry = side == StarLink::own ? c.sq_next : s.begun;
    const bool may = side == StarLink::own ? begin_own(c, op) : begin_remote(c, op);
    if (!may) {
      s.blocked = !std::exchange(s.skip, false);
      return false;
    }
    s.not_ready_since = kNever;
    op.all_sent = op.all_sent || op.length == 0;
    s.at(s.begun++) = op;
    if (side == StarLink::own) ++c.sq_next;
    return true;
  }

  // ---- packets

  // The next packet of the operation that is being sent.
  [[nodiscard]] Flight next_flight(Context& c, Side side) {
    StarStream& s = c.link->streams[side];
    Operation& op = s.at(s.begun - 1);
    Flight f{
        .kind = StarContents<W>::kind_of(side, op.kind), .stream = side, .operation = s.begun - 1, .offset = op.sent};
    f.bytes = f.kind == Flight::Kind::atomic ? 8 : contents_.place(c, side, op, op.sent).bytes;
    op.sent += f.bytes;
    op.all_sent = op.sent == op.length;
    ++op.flights;
    return f;
  }

  // A flight has been answered. What came with the answer goes where it belongs.
  void answered(Context& c, const Flight& f, const wire::Packet& p) {
    const auto side = static_cast<Side>(f.stream);
    Operation& op = c.link->streams[side].at(f.operation);
    --op.flights;
    if (f.kind == Flight::Kind::push && f.copies > 1) expect_copies(*c.link, op, f, p.headers.bth);
    if (op.failed) return;
    const Refusal said = wire::StarView::answer(p.headers).refusal;
    if (said != Refusal::none)
      return fail(op, refused_status(side), side == StarLink::own ? Refusal::peer_access_error : said);
    const std::size_t expected = f.kind == Flight::Kind::pull ? f.bytes : f.kind == Flight::Kind::atomic ? 8 : 0;
    if (p.payload.size() != expected) return fail(op, Status::bad_response, Refusal::response_bad_length);
    if (expected == 0) return;
    const Refusal r =
        f.kind == Flight::Kind::atomic ? contents_.take_original(c, op, p) : contents_.take_pulled(c, side, op, f, p);
    if (r != Refusal::none) fail(op, Status::local_protection, r);
  }

  // Copies of a packet that has been answered may still come, until they expire. Of two each answer tells which it is
  // for; when both have been answered, none is under way.
  static void expect_copies(StarLink& l, Operation& op, const Flight& f, const wire::Bth& answer) {
    TwoCopies& t = l.twice[answer.psn.raw() % StarLink::kWindow];
    const bool two = f.copies == 2, of_second = two && answer.solicited;
    op.safe_at = std::max(op.safe_at, of_second ? t.first_stale_at : f.stale_at);
    ++op.risky;
    if (!two) return;
    t.waits = true;
    t.is_second = !of_second;
    t.stream = f.stream;
    t.psn = answer.psn;
    t.operation = f.operation;
  }
  static void hear_other_copy(StarLink& l, const wire::Bth& answer) {
    TwoCopies& o = l.twice[answer.psn.raw() % StarLink::kWindow];
    if (!o.waits || o.psn != answer.psn || o.is_second != answer.solicited) return;
    o.waits = false;
    StarStream& s = l.streams[o.stream];
    if (o.operation - s.ripened >= s.begun - s.ripened) return;  // it has ended
    Operation& op = s.at(o.operation);
    if (--op.risky == 0) op.safe_at = 0;
  }

  // ---- ending

  // Work whose data is in its place, and whose forerunners' is, ends or is announced. True: something has changed.
  bool ripen(Context& c, Side side) {
    StarLink& l = *c.link;
    StarStream& s = l.streams[side];
    const std::uint32_t before = s.ripened;
    // What has been done for our own program before a request of the stateless side breaks us has been done.
    const bool goes_on =
        l.failing == StarLink::Failing::no || (l.failing == StarLink::Failing::as_responder && side == StarLink::own);
    while (s.ripened != s.begun && goes_on) {
      Operation& op = s.at(s.ripened);
      if (op.flights != 0 || (!op.all_sent && !op.failed) || op.safe_at > core_.now()) break;
      if (op.failed) {
        if (l.failing == StarLink::Failing::no) fail_operation(c, side, op);
        break;
      }
      ++s.ripened;
      side == StarLink::own ? announce_own(l, c, op) : end_remote(c, op);
    }
    return s.ripened != before;
  }
  // Own work completes in order, a SEND when the stateless side has been told.
  void complete_own(Context& c) {
    StarLink& l = *c.link;
    StarStream& s = l.streams[StarLink::own];
    while (s.ended != s.ripened && c.state != QpState::error) {
      const Operation& op = s.at(s.ended);
      if (op.takes_receive && static_cast<std::int32_t>(l.dones_heard - op.done_number) < 0) break;
      ++s.ended;
      completions_.finish_work(c, Status::success);
    }
  }
  // When an operation's packets can no longer be repeated, if only that is missing.
  [[nodiscard]] static Time next_safe(StarLink& l, Time now) {
    Time first = kNever;
    for (StarStream& s : l.streams) {
      if (s.ripened == s.begun) continue;
      const Operation& op = s.at(s.ripened);
      if (op.flights == 0 && op.all_sent && op.safe_at > now) first = std::min(first, op.safe_at);
    }
    return first;
  }

  // Own receive entries that work under way has taken from a shared queue.
  template <class Give>
  static void for_each_taken(Context& c, Give&& give) {
    StarStream& s = c.link->streams[StarLink::remote];
    for (std::uint32_t i = s.ripened; i != s.begun; ++i) {
      if (s.at(i).takes_receive) give(s.at(i).receive);
    }
  }

  // ---- failing

  // The connection ends: own work fails, or a request of the stateless side breaks us. It is told first.
  void begin_failing(Context& c, StarLink::Failing how, Status status, Refusal reason) {
    StarLink& l = *c.link;
    if (l.failing != StarLink::Failing::no) return;
    l.failing = how;
    l.fail_status = status;
    l.fail_reason = reason;
    const bool responder_breaks = how == StarLink::Failing::own_work &&
                                  (status == Status::remote_access || status == Status::remote_invalid_request ||
                                   status == Status::remote_operation);
    if (responder_breaks && !l.remote_broken) {
      post_done(l,
                {.queue = wire::StarDone::Queue::none, .status = static_cast<std::uint8_t>(status), .reason = reason});
      l.remote_broken = true;
    }
  }
  // Nothing is left to be said.
  void finish_failing(Context& c) {
    StarLink& l = *c.link;
    if (l.failing == StarLink::Failing::no || (l.dones_heard != l.dones_posted && !l.gone)) return;
    const StarLink::Failing how = l.failing;
    complete_own(c);
    if (c.state == QpState::error) return;
    forget_work(c);
    if (how == StarLink::Failing::own_work) return completions_.fail_work(c, l.fail_status, l.fail_reason);
    if (c.broken_by == Refusal::none) c.broken_by = l.fail_reason;
    core_.refuse(l.fail_reason);
    if (l.fail_receive != kNone) {
      c.receive_entry = l.fail_receive;
      completions_.finish_receive(c, {.status = l.fail_status, .reason = l.fail_reason});
    }
    const bool access = l.fail_status == Status::remote_access;
    core_.world.notify({access ? EventKind::qp_access_error : EventKind::qp_request_error, c.qpn.raw()});
    completions_.break_off(c);
  }
  // What is under way will never end.
  void forget_work(Context& c) {
    StarLink& l = *c.link;
    if (c.shared_rq != kNone) {
      for_each_taken(c, [&](std::uint32_t entry) {
        if (entry == l.fail_receive) return;
        c.receive_entry = entry;
        completions_.finish_receive(c, {.status = Status::flushed});
      });
    }
    l.flights = {};
    l.twice = {};
    l.open = l.lost = l.own_receives_taken = 0;
    l.streams = {};
    l.migrated = false;
    l.remote_broken = l.gone = true;  // what was posted is never begun again
  }

  static void post_done(StarLink& l, const wire::StarDone& d) { l.dones[l.dones_posted++ % StarLink::kDones] = d; }

 private:
  // ---- beginning own work

  bool begin_own(Context& c, Operation& op) {
    StarLink& l = *c.link;
    StarStream& s = l.streams[StarLink::own];
    const Work& w = read_work_again(core_, c, op.entry);
    op.kind = w.kind;
    op.length = w.length;
    if (is_local(w.kind)) return do_locally(c, w);
    if (l.remote_broken) return fail_next(c, Status::retry_exceeded, Refusal::star_peer_gone);
    if ((w.flags & WorkFlags::fence) != 0 && reads_under_way(s)) return false;
    if (reads_back(w.kind)) {
      if (c.max_reads == 0) return fail_next(c, Status::local_qp_operation, Refusal::reads_disabled);
      if (const Refusal r = check_answers_room(core_, c, w, 0); r != Refusal::none)
        return fail_next(c, Status::local_protection, r);
    }
    if (!find_rule(c, w)) return false;
    if (is_atomic(w.kind)) {
      if (w.remote.address % 8 != 0) return fail_next(c, Status::remote_invalid_request, Refusal::misaligned_atomic);
      if (l.saved == 0) return fail_next(c, Status::remote_invalid_request, Refusal::too_many_reads);
      if (s.ripened != s.begun) return false;  // after all that was posted before it
      op.value = l.atomics;
    }
    op.takes_receive = StarContents<W>::takes_receive(w.kind);
    if (op.takes_receive && !find_receive(c, w, op)) return false;
    if (hazards_.conflict(c, StarLink::own, op)) return false;
    if (op.takes_receive) ++l.receives_taken;
    if (is_atomic(w.kind)) ++l.atomics;
    return true;
  }
  bool do_locally(Context& c, const Work& w) {
    StarStream& s = c.link->streams[StarLink::own];
    if (s.ended != s.begun) return false;
    if (const Refusal r = carry_out_locally(core_, c, w); r != Refusal::none)
      return fail_next(c, Status::window_bind, r);
    ++c.sq_next;
    completions_.finish_work(c, Status::success);
    s.skip = true;
    return false;
  }
  // The entry that is next cannot be done. It fails when all before it have ended.
  bool fail_next(Context& c, Status status, Refusal reason) {
    const StarStream& s = c.link->streams[StarLink::own];
    if (s.ended == s.begun) {
      ++c.sq_next;
      begin_failing(c, StarLink::Failing::own_work, status, reason);
    }
    return false;
  }
  [[nodiscard]] static bool reads_under_way(StarStream& s) {
    for (std::uint32_t i = s.ripened; i != s.begun; ++i) {
      if (reads_back(s.at(i).kind)) return true;
    }
    return false;
  }
  // A rule that opens all that one-sided work names. If there is none yet, it is asked for. If there is one that does
  // not, it is asked for again: the region may have become another one.
  bool find_rule(Context& c, const Work& w) {
    StarLink& l = *c.link;
    const bool by_key = StarContents<W>::is_by_key(StarLink::own, w.kind);
    if (!by_key || (w.length == 0 && !is_atomic(w.kind))) return true;
    const wire::Key key(w.key);
    if (w.key == 0) return fail_next(c, Status::remote_access, Refusal::star_not_registered);  // nobody's
    const StarRegistry::Verdict verdict = contents_.judge(l, w);
    if (verdict == StarRegistry::Verdict::allowed) {
      l.registry.use(key);
      return true;
    }
    if (verdict == StarRegistry::Verdict::refused && l.registry.find(key)->is_fresh) {
      return fail_next(c, Status::remote_access, Refusal::star_not_registered);
    }
    l.wanted = key;
    return false;
  }
  // A receive that the stateless side has posted.
  bool find_receive(Context& c, const Work& w, Operation& op) {
    StarLink& l = *c.link;
    if (l.receives_taken == l.receives_posted) {
      return wait_for_receive(c, StarLink::own, c.rnr_retry, l.min_rnr_timer);
    }
    op.receive = l.receives_taken;
    const RemoteWork& r = l.receives[op.receive % StarLink::kRemote];
    core_.world.read(BusRead::remote_work, &r, sizeof r);
    const bool lands = w.kind != WorkKind::write_immediate && w.length != 0;
    const bool fits = w.length <= r.length;
    if (!lands || (fits && r.refusal == Refusal::none)) return true;
    if (l.streams[StarLink::own].ended != l.streams[StarLink::own].begun) return false;
    post_done(l, {.queue = wire::StarDone::Queue::receive,
                  .status = static_cast<std::uint8_t>(fits ? Status::local_protection : Status::local_length),
                  .reason = fits ? r.refusal : Refusal::receive_too_small,
                  .number = op.receive});
    l.remote_broken = true;
    return fits ? fail_next(c, Status::remote_operation, Refusal::peer_operation_error)
                : fail_next(c, Status::remote_invalid_request, Refusal::peer_invalid_request);
  }
  // Receiver not ready is waiting here: for as long as RNR NAKs would have been answered.
  bool wait_for_receive(Context& c, Side side, std::uint8_t retries, std::uint8_t timer) {
    StarLink& l = *c.link;
    StarStream& s = l.streams[side];
    const Time now = core_.now();
    if (s.not_ready_since == kNever) {
      s.not_ready_since = now;
      core_.count(Counter::out_of_buffer);
    }
    constexpr std::uint8_t kForEver = 7;
    Time most = (Time{retries} + 1) * core_.state.config.rnr_delay(timer);
    if (side == StarLink::own)
      most += c.ack_timeout == 0 ? most
                                 : star_patience(core_.state.config.ack_timeout(c.ack_timeout),
                                                 c.retry_count);  // the post may have been lost on its way
    if (retries == kForEver || now - s.not_ready_since < most) return false;
    if (side == StarLink::remote && s.ripened != s.begun) return false;  // work ends in its order
    core_.count(Counter::retry_rnr_exceeded_err);
    if (side == StarLink::own) return fail_next(c, Status::rnr_retry_exceeded, Refusal::rnr_retry_exceeded);
    end_remote_badly(l, s.begun, Status::rnr_retry_exceeded, Refusal::rnr_retry_exceeded);
    return false;
  }

  // ---- beginning work of the stateless side

  bool begin_remote(Context& c, Operation& op) {
    StarLink& l = *c.link;
    StarStream& s = l.streams[StarLink::remote];
    const RemoteWork& w = StarContents<W>::remote_work(l, op);
    core_.world.read(BusRead::remote_work, &w, sizeof w);
    op.kind = w.kind;
    op.length = w.length;
    const bool all_before = s.ripened == s.begun;
    if (static_cast<std::int32_t>(l.dones_heard - l.barrier) < 0) return false;
    if (is_local(w.kind)) {  // it changes keys over there: after all before it, and before all behind it
      if (!all_before) return false;
      op.length = 0;
      l.barrier = l.dones_posted + 1;
      return true;
    }
    if ((w.flags & WorkFlags::fence) != 0 && reads_under_way(s)) return false;
    if (w.refusal != Refusal::none) {  // its own gate said so
      if (all_before) end_remote_badly(l, op.entry, Status::local_protection, w.refusal);
      return false;
    }
    std::byte* at = nullptr;
    std::uint64_t* word = nullptr;
    const wire::Reth reth{w.address, w.key, w.length};
    Admission a{};
    if (is_write(w.kind)) a = admit_write(core_, c, reth, at);
    if (w.kind == WorkKind::read) a = admit_read(core_, c, reth);
    if (is_atomic(w.kind)) a = admit_atomic(core_, c, atomic_eth(w), word);
    if (a.refusal() != Refusal::none) return refuse_remote(c, op, a, all_before);
    if (is_atomic(w.kind) && !all_before) return false;
    op.takes_receive = StarContents<W>::takes_receive(w.kind);
    if (op.takes_receive && !take_own_receive(c, w, op, all_before)) return false;
    if (hazards_.conflict(c, StarLink::remote, op)) return give_back(c, op);
    if (op.takes_receive) ++l.own_receives_taken;
    if (is_atomic(w.kind)) op.value = swap_or_add(core_, *word, atomic_eth(w), w.kind == WorkKind::fetch_add);
    return (w.flags & WorkFlags::inline_data) == 0 || place_inline(c, op, w);
  }
  [[nodiscard]] static wire::AtomicEth atomic_eth(const RemoteWork& w) {
    const bool adds = w.kind == WorkKind::fetch_add;
    return {w.address, w.key, adds ? w.compare_add : w.swap, adds ? 0 : w.compare_add};
  }
  // A request of the stateless side that must not be done: it is told, and we break as any responder does.
  bool refuse_remote(Context& c, const Operation& op, const Admission& a, bool all_before) {
    if (!all_before) return false;
    end_remote_badly(*c.link, op.entry, a.status(),
                     a.status() == Status::remote_access ? Refusal::peer_access_error : Refusal::peer_invalid_request);
    begin_failing(c, StarLink::Failing::as_responder, a.status(), a.refusal());
    return false;
  }
  bool take_own_receive(Context& c, const RemoteWork& w, Operation& op, bool all_before) {
    StarLink& l = *c.link;
    if (c.shared_rq != kNone) {
      if (!completions_.take_receive(c)) return wait_for_receive(c, StarLink::remote, l.rnr_retry, c.min_rnr_timer);
      op.receive = c.receive_entry;
      c.receive_entry = kNone;
    } else {
      op.receive = c.rq_done + l.own_receives_taken;
      if (op.receive == c.rq_posted) return wait_for_receive(c, StarLink::remote, l.rnr_retry, c.min_rnr_timer);
      ReceiveFetch<W>(core_).take(c, op.receive);
    }
    const Receive& r = read_receive_under_way(core_, c, op.receive);
    if (w.kind == WorkKind::write_immediate || w.length <= r.length) return true;
    if (!all_before) return give_back(c, op);
    end_remote_badly(l, op.entry, Status::remote_invalid_request, Refusal::peer_invalid_request);
    l.fail_receive = op.receive;
    begin_failing(c, StarLink::Failing::as_responder, Status::local_length, Refusal::receive_too_small);
    return false;
  }
  // Not now: an entry of a shared queue is the next one again.
  bool give_back(Context& c, const Operation& op) {
    if (op.takes_receive && c.shared_rq != kNone) --core_.state.srqs[c.shared_rq].taken;
    return false;
  }
  bool place_inline(Context& c, Operation& op, const RemoteWork& w) {
    const wire::Payload data(std::span<const std::byte>(w.tail).first(w.length));
    op.all_sent = true;
    op.sent = op.length;
    const Refusal r = contents_.put(c, op, 0, data);
    if (r != Refusal::none) fail(op, Status::local_protection, r);
    return true;
  }

  // ---- ending

  static void fail(Operation& op, Status status, Refusal reason) {
    op.failed = true;
    op.status = status;
    op.reason = reason;
  }
  // What it means that the stateless card has refused a packet: our own work named memory that it may not use; or the
  // stateless side's program has taken back what its own work names.
  [[nodiscard]] static Status refused_status(Side side) {
    return side == StarLink::own ? Status::remote_access : Status::local_protection;
  }

  void announce_own(StarLink& l, const Context& c, Operation& op) {
    if (!op.takes_receive) return;
    const Work& w = contents_.work(c, op);
    using D = wire::StarDone;
    const bool imm = w.kind == WorkKind::send_immediate || w.kind == WorkKind::write_immediate;
    D d{.queue = D::Queue::receive, .bytes = w.length, .immediate = w.immediate, .number = op.receive};
    d.flags = static_cast<std::uint8_t>((imm ? D::immediate_data : 0) |
                                        (w.kind == WorkKind::send_invalidate ? D::invalidates : 0) |
                                        ((w.flags & WorkFlags::solicited) != 0 ? D::solicited : 0) |
                                        (w.kind == WorkKind::write_immediate ? D::of_write : 0));
    post_done(l, d);
    op.done_number = l.dones_posted;
  }
  void end_remote(Context& c, Operation& op) {
    StarLink& l = *c.link;
    const RemoteWork& w = StarContents<W>::remote_work(l, op);
    ++l.streams[StarLink::remote].ended;
    if (op.takes_receive) {
      --l.own_receives_taken;
      if (!receive_ends(c, op, w)) return;
    }
    post_done(l, {.queue = wire::StarDone::Queue::send, .bytes = w.length, .number = op.entry});
  }
  // False: what it invalidates is not its sender's to invalidate, and the connection breaks.
  bool receive_ends(Context& c, const Operation& op, const RemoteWork& w) {
    StarLink& l = *c.link;
    if (w.kind == WorkKind::send_invalidate) {
      const Refusal r = core_.state.memory.invalidate(wire::Key(w.immediate), core_.asker(c));
      if (r != Refusal::none) {
        end_remote_badly(l, op.entry, Status::remote_access, Refusal::peer_access_error);
        l.fail_receive = op.receive;
        begin_failing(c, StarLink::Failing::as_responder, Status::remote_access, r);
        return false;
      }
    }
    wire::Headers h;
    using O = wire::Opcode;
    const bool imm = w.kind == WorkKind::send_immediate || w.kind == WorkKind::write_immediate;
    h.bth.opcode = imm                                   ? O::rc_send_only_imm
                   : w.kind == WorkKind::send_invalidate ? O::rc_send_only_invalidate
                                                         : O::rc_send_only;
    h.bth.solicited = (w.flags & WorkFlags::solicited) != 0;
    h.immediate.value = w.immediate;
    h.invalidate.key = wire::Key(w.immediate);
    c.receive_entry = op.receive;
    completions_.finish_receive(
        c, {.kind =
                w.kind == WorkKind::write_immediate ? CompletionKind::receive_write_immediate : CompletionKind::receive,
            .bytes = w.length,
            .headers = &h});
    return c.state != QpState::error;
  }
  static void end_remote_badly(StarLink& l, std::uint32_t entry, Status status, Refusal reason) {
    post_done(l, {.queue = wire::StarDone::Queue::send,
                  .status = static_cast<std::uint8_t>(status),
                  .reason = reason,
                  .number = entry});
    l.remote_broken = true;
  }
  void fail_operation(Context& c, Side side, const Operation& op) {
    StarLink& l = *c.link;
    if (side == StarLink::own) {
      if (l.streams[side].ended == l.streams[side].ripened) {
        begin_failing(c, StarLink::Failing::own_work, op.status, op.reason);
      }
      return;
    }
    // Our own memory refused data of the stateless side that had been let in; or its own memory is gone.
    const bool here = op.status == Status::local_protection && op.reason != Refusal::none && op.takes_receive;
    end_remote_badly(l, op.entry, here ? Status::remote_operation : op.status, op.reason);
    if (here) l.fail_receive = op.receive;
    if (here) begin_failing(c, StarLink::Failing::as_responder, Status::local_protection, op.reason);
  }

  Core<W>& core_;
  Completions<W>& completions_;
  StarContents<W>& contents_;
  StarHazards<W> hazards_{core_};
};

}  // namespace weft::nic
