// The sending half of a connection: work entries become packets, a turn at a time. RC and UC share it;
// RC work is done when the peer says so, UC work when it is sent.
#pragma once

#include <algorithm>

#include "base/canary.h"
#include "nic/rc/packets.h"
#include "nic/rc/peer_traffic.h"
#include "nic/rc/send_queue.h"
#include "nic/roce/go_back_n.h"

namespace weft::nic {

template <World W>
class Requester : public SendQueue<W, Requester<W>> {
  using Queue = SendQueue<W, Requester<W>>;
  friend Queue;
  using Queue::core_, Queue::completions_, Queue::stall;

 public:
  Requester(Core<W>& core, Completions<W>& completions, GoBackN<W>& recovery)
      : Queue(core, completions), recovery_(recovery) {}

  void turn(Context& c, TurnBudget& budget) {
    Queue::send_work(c, budget);
    if (c.service == wire::Service::rc) recovery_.watch(c);
    Queue::note_drained(c);
  }

  // Ready: has work that could be sent now.
  [[nodiscard]] bool may_send(const Context& c) const {
    if (c.sq_next == c.sq_posted || c.rnr_wait || c.sq_stalled) return false;
    if (c.next_psn.since(c.unacked_psn) >= core_.roce_window(c)) return false;
    if (c.state != QpState::rts) [[unlikely]] {  // in SQD only what has been begun, or is sent again
      if (c.state != QpState::sqd || (c.next_offset == 0 && c.next_psn == c.sent_psn)) return false;
    }
    return !c.head_waits || c.sq_next == c.sq_done;  // then there is nothing before it to wait for
  }

  // Work at the head that has been done, and what an entry that cannot be sent does once it is the oldest.
  void retire(Context& c) {
    if (c.sq_done != c.sq_next) [[unlikely]]
      retire_local(c);
    completions_.fail_stalled(c);
  }

 private:
  [[nodiscard]] static bool must_wait(const Context& c, const Work& w) {
    if (c.sq_next == c.sq_done) return false;
    // IBA 10.8.3.3: a fence waits for every READ and atomic before it.
    if (c.reads_under_way != 0 && c.next_offset == 0 && (w.flags & WorkFlags::fence) != 0) return true;
    return reads_back(w.kind) && (c.reads_under_way >= std::max<std::uint8_t>(c.max_reads, 1) || !psns_fit(c, w));
  }
  [[gnu::noinline]] void retire_local(Context& c) {
    while (c.sq_done != c.sq_next && is_local(read_work_under_way(core_, c, c.sq_done).kind)) {
      completions_.finish_work(c, Status::success);
    }
  }
  [[nodiscard]] static bool has_begun(const Context& c) { return GoBackN<W>::under_way(c); }  // gone back

  // A READ takes a PSN for every packet of its answer. More than half the circle under way would make a
  // repeated request look like a future one.
  [[nodiscard]] static bool psns_fit(const Context& c, const Work& w) {
    return c.next_psn.since(c.unacked_psn) + packets_of(w.length - c.next_offset, c.mtu_shift) <= 1U << 23;
  }

  void ask(Context& c, const Work& w, TurnBudget& budget) {
    budget.room -= std::min(packets_of(w.length, c.mtu_shift), budget.room);
    if (c.max_reads == 0) return stall(c, Status::local_qp_operation, Refusal::reads_disabled);
    if (const Refusal r = check_answers_room(core_, c, w, c.next_offset); r != Refusal::none) {
      return stall(c, Status::local_protection, r);
    }
    const std::uint32_t packets = packets_of(w.length - c.next_offset, c.mtu_shift);
    const auto opcode = w.kind == WorkKind::read           ? wire::Opcode::rc_read_request
                        : w.kind == WorkKind::compare_swap ? wire::Opcode::rc_compare_swap
                                                           : wire::Opcode::rc_fetch_add;
    wire::Headers& h = core_.start_packet(c, opcode, c.next_psn);
    h.bth.ack_request = true;
    fill_question(w, c.next_offset, h);
    core_.send_packet();
    if (c.next_psn == c.sent_psn) time_answer(core_, c, c.next_psn);
    advance_psn(c, canary(Canary::read_takes_one_psn) ? 1 : packets);
    ++c.reads_under_way;
    c.next_offset = 0;
    c.since_ack_request = 0;
    ++c.sq_next;
  }

  void send_message(Context& c, const Work& w, TurnBudget& budget) {
    const MessageOpcodes& opcodes = c.service == wire::Service::rc ? rc_opcodes(w.kind) : uc_opcodes(w.kind);
    const bool reliable = c.service == wire::Service::rc;
    while (budget.bytes > 0 && c.next_psn.since(c.unacked_psn) < core_.roce_window(c) && budget.room > 0) {
      const std::uint32_t packets = packets_at_once(c, w, budget);
      const std::uint32_t bytes = std::min(packets << c.mtu_shift, w.length - c.next_offset);
      const bool starts = c.next_offset == 0, ends = c.next_offset + bytes == w.length;
      Pieces pieces;
      if (const Refusal r = pieces_of(core_, c, w, c.next_offset, bytes, pieces); r != Refusal::none) {
        return stall(c, Status::local_protection, r);
      }
      wire::Headers& h = core_.start_packet(c, opcodes.at(starts, ends), c.next_psn);
      const bool ends_turn = budget.bytes <= bytes || budget.room == packets;
      fill_headers(c, w, {starts, ends, ends_turn && must_ask(core_, c), packets}, h);
      core_.out.last = ends && core_.is_last(c, c.sq_next);
      core_.out.payload = {pieces.data(), pieces.size()};
      core_.out.payload_bytes = bytes;
      core_.out.packets = packets;
      core_.send_packet();
      if (h.bth.ack_request && c.next_psn == c.sent_psn) time_answer(core_, c, c.next_psn.plus(packets - 1));
      advance_psn(c, packets);
      budget.bytes -= bytes;
      budget.room -= packets;
      c.next_offset += bytes;
      if (ends) {
        c.next_offset = 0;
        ++c.sq_next;
        if (!reliable) {
          c.unacked_psn = c.done_psn = c.next_psn;
          completions_.finish_work(c, Status::success);
        }
        return;
      }
    }
  }

  // Of a message: one, or as many as the world takes apart by itself. What is sent again goes one by one.
  [[nodiscard]] std::uint32_t packets_at_once(const Context& c, const Work& w, const TurnBudget& budget) {
    const std::uint32_t left = w.length - c.next_offset;
    if (left <= path_mtu(c) || c.next_psn != c.sent_psn || is_call(w.kind)) return 1;
    const std::uint32_t room = core_.roce_window(c) - c.next_psn.since(c.unacked_psn);
    return core_
        .burst_of(c, {.bytes = left, .message = w.length, .room = std::min(room, budget.room), .turn = budget.bytes})
        .packets;
  }

  struct Part {
    bool starts, ends;      // its message
    bool asks;              // for an acknowledgement, in any case
    std::uint32_t packets;  // that it is
  };
  void fill_headers(Context& c, const Work& w, Part at, wire::Headers& h) {
    if (at.starts && has_target(w.kind)) {
      h.reth = {w.remote.address, wire::Key(w.key), w.length};
    }
    if (!at.ends) [[unlikely]] {
      const auto every =
          std::min<std::uint32_t>(core_.state.config.acknowledge_every, std::max(core_.roce_window(c) / 2, 1U));
      c.since_ack_request = static_cast<std::uint8_t>(std::min(c.since_ack_request + at.packets, 0xFFU));
      h.bth.ack_request = c.since_ack_request >= every || at.asks;
    } else {
      h.bth.ack_request = true;
      fill_end(w, h);
    }
    if (h.bth.ack_request) c.since_ack_request = 0;
    if (c.service != wire::Service::rc) h.bth.ack_request = false;
  }

  void advance_psn(Context& c, std::uint32_t packets) {
    if (c.next_psn != c.sent_psn) [[unlikely]]
      core_.count(Counter::retransmitted_pkts);
    c.next_psn = c.next_psn.plus(packets);
    if (c.next_psn.since(c.unacked_psn) > c.sent_psn.since(c.unacked_psn)) c.sent_psn = c.next_psn;
    if (c.service != wire::Service::rc) c.sent_psn = c.next_psn;
  }

  GoBackN<W>& recovery_;
};

}  // namespace weft::nic
