// What comes back to the requester: acknowledgements, READ responses, results of atomics. Work completes in
// order, each exactly once, whatever the network did to the packets in between.
#pragma once

#include <algorithm>

#include "base/canary.h"
#include "nic/completions.h"
#include "nic/roce/go_back_n.h"
#include "nic/roce/requester.h"
#include "wire/syndrome.h"

namespace weft::nic {

template <World W>
class RequesterInput {
 public:
  RequesterInput(Core<W>& core, Completions<W>& completions, GoBackN<W>& recovery, Requester<W>& sender)
      : core_(core), completions_(completions), recovery_(recovery), requester_(sender) {}

  void on_response(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    const wire::Psn psn = p.headers.bth.psn;
    if (psn.since(c.unacked_psn) >= c.sent_psn.since(c.unacked_psn)) {  // of nothing that is under way
      return core_.refuse(psn.ahead_of(c.unacked_psn) < 0 ? Refusal::ack_duplicate : Refusal::ack_ghost);
    }
    if (info.verb != wire::Verb::ack && info.aeth && !says_ack(p.headers.aeth)) {  // it contradicts itself
      return core_.refuse(Refusal::bad_syndrome);
    }
    if (info.verb == wire::Verb::ack) [[likely]] {
      on_ack(c, psn, p.headers.aeth);
    } else if (info.verb == wire::Verb::read_response) {
      on_read_response(c, p, info);
    } else {
      on_atomic_ack(c, p);
    }
    settle_account(core_, c);
    if (c.state == QpState::error) return;
    if (requester_.may_send(c) && may_go_or_waits(core_, c)) core_.schedule(c);
    requester_.note_drained(c);
  }

 private:
  static bool says_ack(const wire::Aeth& aeth) {
    return wire::Syndrome::decode(aeth.syndrome).kind == wire::Syndrome::Kind::ack;
  }

  void on_ack(Context& c, wire::Psn psn, const wire::Aeth& aeth) {
    core_.count(Counter::acks_rcvd);
    const wire::Syndrome s = wire::Syndrome::decode(aeth.syndrome);
    switch (s.kind) {
      case wire::Syndrome::Kind::ack:
        if (!acknowledge(c, psn.plus(1))) implied_nak(c);
        return;
      case wire::Syndrome::Kind::rnr:
        if (!acknowledge(c, psn)) return implied_nak(c);
        if (c.state != QpState::error) recovery_.on_receiver_not_ready(c, s.value);
        return;
      case wire::Syndrome::Kind::nak: return on_nak(c, psn, s.nak_code());
      default: return core_.refuse(Refusal::bad_syndrome);
    }
  }

  [[gnu::cold, gnu::noinline]] void on_nak(Context& c, wire::Psn psn, wire::NakCode code) {
    if (code == wire::NakCode::invalid_rd) return core_.refuse(Refusal::bad_syndrome);  // no reliable connection's
    if (code == wire::NakCode::no_kernel && !is_of_call(c, psn)) return core_.refuse(Refusal::bad_syndrome);
    const bool complete = acknowledge(c, psn);
    if (c.state == QpState::error) return;
    // The answer to a READ or atomic before it was lost, so the refused work is not the oldest.
    if (!complete && code != wire::NakCode::psn_sequence) return implied_nak(c);
    switch (code) {
      case wire::NakCode::psn_sequence:
        core_.count(Counter::rcvd_seq_err);
        core_.count(Counter::packet_seq_err);
        return recovery_.on_gap(c);
      case wire::NakCode::invalid_request:
        return completions_.fail_work(c, Status::remote_invalid_request, Refusal::peer_invalid_request);
      case wire::NakCode::remote_access:
        return completions_.fail_work(c, Status::remote_access, Refusal::peer_access_error);
      case wire::NakCode::no_kernel:
        return completions_.fail_work(c, Status::remote_operation, Refusal::peer_no_kernel);
      default: return completions_.fail_work(c, Status::remote_operation, Refusal::peer_operation_error);
    }
  }

  // Does this PSN, which is under way, belong to a call or its payload?
  [[gnu::cold, gnu::noinline]] bool is_of_call(const Context& c, wire::Psn psn) {
    wire::Psn begin = c.done_psn;
    for (std::uint32_t entry = c.sq_done; entry != c.sq_posted; ++entry) {
      const Work& w = read_work_under_way(core_, c, entry);
      const std::uint32_t packets = is_local(w.kind) ? 0 : is_atomic(w.kind) ? 1 : packets_of(w.length, c.mtu_shift);
      if (psn.since(begin) < packets) return is_call(w.kind);
      begin = begin.plus(packets);
    }
    return false;
  }

  [[gnu::noinline]] void on_read_response(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    const wire::Psn psn = p.headers.bth.psn;
    acknowledge(c, psn);  // a response acknowledges every request before it
    if (c.state == QpState::error) return;
    const Work& w = read_scatter_under_way(core_, c, c.sq_done);
    if (psn != c.unacked_psn) {
      core_.refuse(Refusal::response_out_of_order);
      return implied_nak(c);
    }
    if (w.kind != WorkKind::read) return core_.refuse(Refusal::response_unexpected);
    const std::uint32_t offset = psn.since(c.done_psn) << c.mtu_shift;
    const std::uint32_t bytes = std::min(path_mtu(c), w.length - offset);
    const bool ends = offset + bytes == w.length;
    // A READ asked for again in part starts anew in the middle, so only this much is certain of the step.
    if (info.ends() != ends || (psn == c.done_psn && !info.starts())) {
      return core_.refuse(Refusal::response_out_of_order);
    }
    if (p.payload.size() != bytes) return core_.refuse(Refusal::response_bad_length);
    if (const Refusal r = scatter(core_, c, sges_of(w), offset, p.payload); r != Refusal::none) {
      return completions_.fail_work(c, Status::local_protection, r);
    }
    c.unacked_psn = psn.plus(1);
    if (ends) finish_oldest(c, c.unacked_psn);
    catch_up(c);
    if (c.state != QpState::error) recovery_.progressed(c);
  }

  [[gnu::noinline]] void on_atomic_ack(Context& c, const wire::Packet& p) {
    const wire::Psn psn = p.headers.bth.psn;
    acknowledge(c, psn);
    if (c.state == QpState::error) return;
    const Work& w = read_scatter_under_way(core_, c, c.sq_done);
    if (psn != c.unacked_psn) {
      core_.refuse(Refusal::response_out_of_order);
      return implied_nak(c);
    }
    if (!is_atomic(w.kind)) return core_.refuse(Refusal::response_unexpected);
    const std::uint64_t original = p.headers.atomic_ack.original;
    const auto bytes = std::as_bytes(std::span<const std::uint64_t, 1>(&original, 1));
    if (const Refusal r = scatter(core_, c, sges_of(w), 0, bytes); r != Refusal::none) {
      return completions_.fail_work(c, Status::local_protection, r);
    }
    finish_oldest(c, psn.plus(1));
    if (c.state != QpState::error) recovery_.progressed(c);
  }

  // The oldest work is done, and `end` is the PSN after its last.
  void finish_oldest(Context& c, wire::Psn end) {
    const bool counted = c.sq_done != c.sq_next && reads_back(read_work_under_way(core_, c, c.sq_done).kind);
    if (counted && c.reads_under_way > 0) --c.reads_under_way;
    c.done_psn = c.unacked_psn = end;
    completions_.finish_work(c, Status::success);
    catch_up(c);
    requester_.retire(c);
  }

  // Everything before `target`, which is not behind unacked_psn, has arrived. False when that would skip a READ or
  // atomic whose answer has not come: an implied NAK (IBA 9.7.5.1.1).
  bool acknowledge(Context& c, wire::Psn target) {
    const wire::Psn before = c.unacked_psn;
    bool complete = true;
    while (target != c.done_psn && c.state != QpState::error) {
      const Work& w = read_work_under_way(core_, c, c.sq_done);
      if (is_local(w.kind)) [[unlikely]] {  // done before, and met again while going back
        finish_oldest(c, c.done_psn);
        continue;
      }
      if (reads_back(w.kind)) {
        complete = target == c.unacked_psn;
        break;
      }
      const std::uint32_t packets = packets_of(w.length, c.mtu_shift);
      if (target.since(c.done_psn) < packets) {
        c.unacked_psn = target;
        break;
      }
      finish_oldest(c, c.done_psn.plus(packets));
    }
    if (c.unacked_psn != before && c.state != QpState::error) {
      catch_up(c);
      recovery_.progressed(c);
    }
    return complete;
  }

  // While going back, acknowledgements of the first sending may overtake what is being sent again.
  void catch_up(Context& c) {
    if (static_cast<std::int32_t>(c.sq_done - c.sq_next) > 0) [[unlikely]]
      c.sq_next = c.sq_done;
    if (c.sq_next != c.sq_done || c.next_psn.ahead_of(c.unacked_psn) >= 0) [[likely]]
      return;
    c.next_psn = c.unacked_psn;
    c.next_offset = c.unacked_psn.since(c.done_psn) << c.mtu_shift;
  }

  // Once per gap: the responses still in flight behind it would each ask again.
  [[gnu::cold, gnu::noinline]] void implied_nak(Context& c) {
    if (c.reread || canary(Canary::skipped_read_forgotten)) return;
    core_.count(Counter::implied_nak_seq_err);
    recovery_.on_gap(c);
    c.reread = true;
  }

  Core<W>& core_;
  Completions<W>& completions_;
  GoBackN<W>& recovery_;
  Requester<W>& requester_;
};

}  // namespace weft::nic
