// How work ends: completions of send work in order, receives, and what remains when a queue pair breaks.
#pragma once

#include <new>

#include "base/canary.h"
#include "nic/core.h"
#include "nic/kernels/kernel_table.h"
#include "nic/scatter_gather.h"
#include "nic/work_fetch.h"

namespace weft::nic {

// By WorkKind. Not inside the function, where each call would build it on the stack.
inline constexpr CompletionKind kCompletionKinds[] = {
    CompletionKind::send,         CompletionKind::send,      CompletionKind::send,
    CompletionKind::write,        CompletionKind::write,     CompletionKind::read,
    CompletionKind::compare_swap, CompletionKind::fetch_add, CompletionKind::local_invalidate,
    CompletionKind::bind_window,  CompletionKind::write,     CompletionKind::write,
    CompletionKind::write,        CompletionKind::write};
static_assert(std::size(kCompletionKinds) == kWorkKinds);
constexpr CompletionKind completion_kind(WorkKind k) { return kCompletionKinds[static_cast<std::size_t>(k)]; }

template <World W>
class Completions {
 public:
  explicit Completions(Core<W>& core) : core_(core) {}

  // The oldest work is done. Unsignalled work says so only when it failed.
  void finish_work(Context& c, Status status, Refusal reason = Refusal::none) {
    const Work& w = read_work_under_way(core_, c, c.sq_done);
    const bool silent = status == Status::success && !c.signal_all && (w.flags & WorkFlags::signaled) == 0;
    ++c.sq_done;
    if (silent) return;
    if ((w.flags & WorkFlags::by_card) != 0) [[unlikely]]
      return note_sent(c, w, status == Status::success);
    if (status != Status::success) [[unlikely]]
      core_.count(Counter::req_cqe_error);
    Completion* done = core_.start_completion(c.send_cq);
    if (done == nullptr) [[unlikely]]
      return overflowed(c);
    new (done) Completion{.id = w.id,
                          .status = status,
                          .kind = completion_kind(w.kind),
                          .reason = reason,
                          .bytes = w.length,
                          .qpn = c.qpn,
                          .when = core_.when(c.send_cq)};
    core_.complete(c.send_cq, *done);
  }

  // The oldest work cannot be done: it completes with its status, and the rest is flushed. A datagram or
  // unreliable queue pair only stops sending (SQE); a reliable one breaks.
  [[gnu::cold, gnu::noinline]] void fail_work(Context& c, Status status, Refusal reason) {
    core_.refuse(reason);
    if (c.broken_by == Refusal::none) c.broken_by = reason;
    core_.revoke_from(c);
    finish_work(c, status, reason);
    if (c.service == wire::Service::rc) {
      break_off(c);
    } else if (c.state != QpState::error) {
      c.state = QpState::sqe;
      flush_sends(c);
    }
  }

  // Entry sq_next cannot be sent. It breaks the queue pair once it is the oldest.
  [[gnu::cold, gnu::noinline]] void stall(Context& c, Status status, Refusal reason) {
    c.sq_stalled = true;
    c.stall_status = status;
    c.stall_reason = reason;
  }
  void fail_stalled(Context& c) {
    if (!c.sq_stalled || c.sq_done != c.sq_next) [[likely]]
      return;
    c.sq_stalled = false;
    fail_work(c, c.stall_status, c.stall_reason);
  }

  struct ReceiveEnd {
    Status status = Status::success;
    Refusal reason = Refusal::none;
    CompletionKind kind = CompletionKind::receive;
    std::uint32_t bytes = 0;
    const wire::Headers* headers = nullptr;  // of the last packet: immediate, invalidated key, solicited, source
    bool grh = false;
    std::uint8_t traffic_class = 0;
  };

  // The receive entry that the message under way has taken is done.
  void finish_receive(Context& c, const ReceiveEnd& end) {
    const std::uint32_t entry = c.receive_entry;
    c.receive_entry = kNone;
    if (c.shared_rq == kNone || c.dialect == Dialect::srnic) ++c.rq_done;  // srnic counts SENDs by it
    if (end.status != Status::success) [[unlikely]]
      core_.count(Counter::resp_cqe_error);
    Completion* done = core_.start_completion(c.receive_cq);
    if (done == nullptr) [[unlikely]]
      return overflowed(c);
    new (done) Completion{.id = read_receive_under_way(core_, c, entry).id,
                          .status = end.status,
                          .kind = end.kind,
                          .has_grh = end.grh,
                          .reason = end.reason,
                          .traffic_class = end.traffic_class,
                          .bytes = end.bytes,
                          .qpn = c.qpn,
                          .shared_entry = c.shared_rq != kNone ? entry : Completion::kNotShared,
                          .when = core_.when(c.receive_cq)};
    if (end.headers != nullptr) describe(*end.headers, *done);
    core_.complete(c.receive_cq, *done);
  }

  // A receive cannot take its message, and no NAK can say so: the end of an unreliable queue pair.
  [[gnu::cold, gnu::noinline]] void fail_receive(Context& c, Refusal reason) {
    if (c.broken_by == Refusal::none) c.broken_by = reason;
    finish_receive(c, {.status = Status::local_protection, .reason = reason, .bytes = c.roce.received_bytes});
    core_.world.notify({EventKind::qp_fatal, c.qpn.raw()});
    break_off(c);
  }

  // The receive entry for a new message; false when nothing is posted.
  [[nodiscard]] bool take_receive(Context& c) {
    if (c.receive_entry != kNone) return true;  // an unreliable message that was cut off left it
    if (c.shared_rq == kNone) [[likely]] {
      if (c.rq_done == c.rq_posted) [[unlikely]]
        return false;
      c.receive_entry = c.rq_done;
      note_left(c.rq_posted - c.rq_done - 1, c.rq_shift);
    } else {
      SharedReceiveRing& srq = core_.state.srqs[c.shared_rq];
      core_.world.touch(OnChip::shared_receive_queue, c.shared_rq);
      if (srq.available() == 0) return false;
      c.receive_entry = srq.take();
      note_left(srq.available(), srq.shift);
      if (srq.available() < srq.limit) {
        srq.limit = 0;
        core_.world.notify({EventKind::srq_limit_reached, c.shared_rq});
      }
    }
    ReceiveFetch<W>(core_).take(c);
    return true;
  }

  // Into ERROR: nothing is sent or accepted any more, and all that was posted comes back flushed. Apart, like what else
  // is rare here, so that those who call it stay short.
  [[gnu::cold, gnu::noinline]] void break_off(Context& c) {
    core_.revoke_from(c);
    c.state = QpState::error;
    core_.state.timers.disarm(core_.slot(c));
    c.rnr_wait = c.owes_ack = c.responder_stopped = c.sq_stalled = false;
    c.inbound = Inbound::none;
    c.saved_pending = 0;
    flush_out_of_order(c);
    if (c.calls != nullptr) end_kernels(c);
    flush(c);
  }
  // A local call has ended. Unsignalled ones say so only when they failed.
  [[gnu::noinline]] void finish_call(Context& c, Status status, Refusal reason, std::uint32_t bytes) {
    LocalCalls& queue = c.calls->local();
    const LocalCall& l = *queue.oldest();
    const bool silent = status == Status::success && !c.signal_all && !l.signaled;
    queue.finish();
    if (silent) return;
    if (status != Status::success) core_.count(Counter::req_cqe_error);
    Completion* done = core_.start_completion(c.send_cq);
    if (done == nullptr) return overflowed(c);
    new (done) Completion{.id = l.id,
                          .status = status,
                          .kind = CompletionKind::write,
                          .reason = reason,
                          .bytes = bytes,
                          .qpn = c.qpn,
                          .when = core_.when(c.send_cq)};
    core_.complete(c.send_cq, *done);
  }
  // The oldest local call cannot be carried out: as work that cannot be sent, it breaks the queue pair.
  [[gnu::cold, gnu::noinline]] void fail_call(Context& c, Status status, Refusal reason) {
    core_.refuse(reason);
    if (c.broken_by == Refusal::none) c.broken_by = reason;
    finish_call(c, status, reason, 0);
    break_off(c);
  }
  // What came ahead of its turn will never have one. Entries of a shared receive queue come back to their owner.
  void flush_out_of_order(Context& c) {
    if (c.dialect != Dialect::srnic) return;
    ReorderNotes& notes = core_.state.reorder_notes;
    for (SrnicInbound* in : {&c.srnic.in, &c.responses.in}) {
      while (const ReorderNote* note = read_note(core_, notes.take_any(in->notes))) {
        if (note->kind != ReorderNote::Kind::taken) continue;
        if (c.receive_entry != kNone) finish_receive(c, {.status = Status::flushed});
        c.receive_entry = note->entry;
      }
      in->run = 0;
    }
    c.owes_response_ack = c.requests_lost = c.responses_lost = false;
    c.retry_ring = RetryRing::kNoRing;
    core_.tell({.kind = LossEvent::Kind::gone}, c);
  }
  void flush(Context& c) {
    flush_sends(c);
    while (c.receive_entry != kNone || (c.shared_rq == kNone && c.rq_done != c.rq_posted)) {
      if (c.receive_entry == kNone) c.receive_entry = c.rq_done;
      finish_receive(c, {.status = Status::flushed});
    }
    if (!c.flushed && c.shared_rq != kNone) core_.world.notify({EventKind::last_entry_reached, c.qpn.raw()});
    c.flushed = true;
  }
  [[gnu::cold, gnu::noinline]] void flush_sends(Context& c) {
    const Status status = canary(Canary::flushed_is_success) ? Status::success : Status::flushed;
    while (c.sq_done != c.sq_posted) finish_work(c, status);
    c.sq_next = c.sq_posted;
    c.next_offset = 0;
    c.done_psn = c.unacked_psn = c.sent_psn = c.next_psn;  // nothing is under way: no timer may think so
  }

 private:
  // What a kernel has answered or sent has arrived, or never will: its place is free, and a call may go on that waited
  // for it.
  [[gnu::cold, gnu::noinline]] void note_sent(Context& c, const Work& w, bool arrived) {
    if (c.calls == nullptr) return;
    const auto place = static_cast<std::uint32_t>(w.id);
    if (const KernelServer::Sender s = c.calls->end_send(place); s.serial != 0) {
      wake_sender(s.qpn, s.serial, arrived);
      c.calls->wake_waiters([&](std::uint32_t qpn) { wake_sender(qpn, 0, arrived); });
      return;
    }
    c.calls->set_busy(place, false);
    if (c.calls->let_go_on() && c.state != QpState::error) core_.schedule(c);
  }
  // Something that a local call of this queue pair has sent has ended, or there is room to send more.
  void wake_sender(std::uint32_t qpn, std::uint32_t serial, bool arrived) {
    Context* c = core_.state.contexts.find(wire::Qpn(qpn));
    if (c == nullptr || c->calls == nullptr || c->state == QpState::error) return;
    if (serial != 0) c->calls->end_of_send(serial, arrived);
    if (c->calls->has_turn) core_.schedule(*c);
  }
  [[gnu::cold, gnu::noinline]] void end_kernels(Context& c) {
    c.calls->abandon([&](std::uint32_t qpn, std::uint32_t serial) { wake_sender(qpn, serial, false); });
    while (c.calls->has_local() && c.calls->local().oldest() != nullptr)
      finish_call(c, Status::flushed, Refusal::none, 0);
  }
  void note_left(std::uint32_t entries, std::uint8_t shift) {
    if (entries <= 1U << shift >> 3) [[unlikely]]
      core_.state.receives_low = true;
  }
  static void describe(const wire::Headers& h, Completion& done) {
    const wire::OpcodeInfo& info = wire::info(h.bth.opcode);
    done.has_immediate = info.immediate;
    done.has_invalidated = info.ieth;
    done.solicited = h.bth.solicited;
    if (info.immediate) [[unlikely]]
      done.immediate = h.immediate.value;
    if (info.ieth) [[unlikely]]
      done.immediate = h.invalidate.key.raw();
    if (info.deth) [[unlikely]]
      done.source_qpn = h.deth.source;
  }
  // IBA 11.6.3.1: a queue pair whose completions have nowhere to go cannot go on.
  [[gnu::cold, gnu::noinline]] void overflowed(Context& c) {
    if (c.state == QpState::error) return;
    c.broken_by = Refusal::cq_overflow;
    c.state = QpState::error;
    core_.state.timers.disarm(core_.slot(c));
    core_.world.notify({EventKind::qp_fatal, c.qpn.raw()});
    core_.schedule(c);  // its next turn flushes what is left
  }

  Core<W>& core_;
};

}  // namespace weft::nic
