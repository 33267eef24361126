// The sending half of a connection: work entries become packets, a turn at a time. RC and UC share it;
// RC work is done when the peer says so, UC work when it is sent.
#pragma once

#include <algorithm>

#include "base/canary.h"
#include "nic/breaking.h"
#include "nic/peer_traffic.h"
#include "nic/recovery/go_back_n.h"
#include "nic/transport/local_work.h"
#include "nic/transport/packets.h"
#include "nic/turn_budget.h"
#include "nic/work_fetch.h"

namespace weft::nic {

template <World W>
class Sender {
 public:
  Sender(Core<W>& core, Endings<W>& endings, GoBackN<W>& recovery)
      : core_(core), endings_(endings), recovery_(recovery) {}

  // Sends until the budget, the work, the window or a fence ends it.
  void turn(Context& c, TurnBudget& budget) {
    WorkFetch<W> fetch(core_, c);
    while (!budget.spent() && budget.room > 0 && may_send(c)) {
      Work& w = fetch.next(budget.works);
      if (is_local(w.kind)) {
        do_local_work(c, w);
      } else if (reads_back(w.kind)) {
        send_read_or_atomic(c, w);
        budget.room -= std::min(packets_of(w.length, c.mtu_shift), budget.room);
      } else {
        send_message(c, w, budget);
      }
      --budget.works;
    }
    fetch.drop();
    if (c.service == wire::Service::rc) recovery_.watch(c);
    note_drained(c);
  }

  // Ready: has work that could be sent now.
  [[nodiscard]] bool may_send(const Context& c) const {
    if (c.sq_next == c.sq_posted || c.rnr_wait || c.sq_stalled) return false;
    if (c.next_psn.since(c.unacked_psn) >= core_.roce_window(c)) return false;
    if (c.state != QpState::rts) [[unlikely]] {  // in SQD only what has been begun, or is sent again
      if (c.state != QpState::sqd || (c.next_offset == 0 && c.next_psn == c.sent_psn)) return false;
    }
    if (c.sq_next == c.sq_done) [[likely]]
      return true;  // nothing before it to wait for
    const Work& w = work_at(c, c.sq_next);
    // IBA 10.8.3.3: a fence waits for every READ and atomic before it.
    if (c.reads_under_way != 0 && c.next_offset == 0 && (w.flags & WorkFlags::fence) != 0) return false;
    return !reads_back(w.kind) || (c.reads_under_way < std::max<std::uint8_t>(c.max_reads, 1) && psns_fit(c, w));
  }

  // Work at the head that has been done, and what an entry that cannot be sent does once it is the oldest.
  void retire(Context& c) {
    if (c.sq_done != c.sq_next) [[unlikely]]
      retire_local(c);
    endings_.fail_stalled(c);
  }

  // In SQD: tells when everything that was begun has been acknowledged.
  void note_drained(Context& c) {
    if (c.state == QpState::sqd) [[unlikely]]
      see_whether_drained(c);
  }

 private:
  [[gnu::noinline]] void retire_local(Context& c) {
    while (c.sq_done != c.sq_next && is_local(work_at(c, c.sq_done).kind)) {
      endings_.finish_work(c, Status::success);
    }
  }
  [[gnu::cold, gnu::noinline]] void see_whether_drained(Context& c) {
    if (c.drained || c.sq_done != c.sq_next || c.next_offset != 0) return;
    if (GoBackN<W>::under_way(c)) return;  // gone back, and not yet sent again
    c.drained = true;
    if (c.drain_notify) core_.world.notify({EventKind::sq_drained, c.qpn.raw()});
  }
  [[gnu::cold, gnu::noinline]] void stall(Context& c, Status status, Refusal reason) {
    endings_.stall(c, status, reason);
    retire(c);
  }

  void do_local_work(Context& c, Work& w) {
    if (const Refusal r = carry_out_locally(core_, c, w); r != Refusal::none) return stall(c, Status::window_bind, r);
    ++c.sq_next;
    retire(c);
  }

  // A READ takes a PSN for every packet of its answer. More than half the circle under way would make a
  // repeated request look like a future one.
  [[nodiscard]] static bool psns_fit(const Context& c, const Work& w) {
    return c.next_psn.since(c.unacked_psn) + packets_of(w.length - c.next_offset, c.mtu_shift) <= 1U << 23;
  }

  void send_read_or_atomic(Context& c, const Work& w) {
    const bool atomic = is_atomic(w.kind);
    if (c.max_reads == 0) return stall(c, Status::local_qp_operation, Refusal::reads_disabled);
    // The answer must have somewhere to go before it is asked for.
    const Refusal r = for_each_piece(core_, c, sges_of(w), Rights::local_write, c.next_offset, w.length - c.next_offset,
                                     [](std::byte*, std::uint32_t) {});
    if (r != Refusal::none) return stall(c, Status::local_protection, r);
    const std::uint32_t packets = packets_of(w.length - c.next_offset, c.mtu_shift);
    const auto opcode = w.kind == WorkKind::read           ? wire::Opcode::rc_read_request
                        : w.kind == WorkKind::compare_swap ? wire::Opcode::rc_compare_swap
                                                           : wire::Opcode::rc_fetch_add;
    wire::Headers& h = core_.start_packet(c, opcode, c.next_psn);
    h.bth.ack_request = true;
    if (atomic) {
      h.atomic = {w.remote.address, wire::Key(w.key), w.remote.swap, w.remote.compare_add};
      if (w.kind == WorkKind::fetch_add) h.atomic = {w.remote.address, wire::Key(w.key), w.remote.compare_add, 0};
    } else {
      h.reth = {w.remote.address + c.next_offset, wire::Key(w.key), w.length - c.next_offset};
    }
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
    const std::uint32_t mtu = path_mtu(c);
    const bool reliable = c.service == wire::Service::rc;
    while (budget.bytes > 0 && c.next_psn.since(c.unacked_psn) < core_.roce_window(c) && budget.room > 0) {
      const std::uint32_t bytes = std::min(mtu, w.length - c.next_offset);
      const bool starts = c.next_offset == 0, ends = c.next_offset + bytes == w.length;
      Pieces pieces;
      if (const Refusal r = pieces_of(c, w, bytes, pieces); r != Refusal::none) {
        return stall(c, Status::local_protection, r);
      }
      wire::Headers& h = core_.start_packet(c, opcodes.at(starts, ends), c.next_psn);
      const bool ends_turn = budget.bytes <= bytes || budget.room == 1;
      fill_headers(c, w, {starts, ends, ends_turn && must_ask(core_, c)}, h);
      core_.out.last = ends && core_.is_last(c, c.sq_next);
      core_.out.payload = {pieces.data(), pieces.size()};
      core_.out.payload_bytes = bytes;
      core_.send_packet();
      if (h.bth.ack_request && c.next_psn == c.sent_psn) time_answer(core_, c, c.next_psn);
      advance_psn(c, 1);
      budget.bytes -= bytes;
      --budget.room;
      c.next_offset += bytes;
      if (ends) {
        c.next_offset = 0;
        ++c.sq_next;
        if (!reliable) {
          c.unacked_psn = c.done_psn = c.next_psn;
          endings_.finish_work(c, Status::success);
        }
        return;
      }
    }
  }

  [[nodiscard]] Refusal pieces_of(const Context& c, const Work& w, std::uint32_t bytes, Pieces& pieces) {
    if ((w.flags & WorkFlags::inline_data) != 0) {
      if (bytes > 0) (void)pieces.try_push({inline_bytes_of(w) + c.next_offset, bytes});
      return Refusal::none;
    }
    return gather(core_, c, sges_of(w), c.next_offset, bytes, pieces);
  }

  struct PacketPlace {
    bool starts, ends;  // its message
    bool asks;          // for an acknowledgement, in any case
  };
  void fill_headers(Context& c, const Work& w, PacketPlace at, wire::Headers& h) {
    if (at.starts && (w.kind == WorkKind::write || w.kind == WorkKind::write_immediate)) {
      h.reth = {w.remote.address, wire::Key(w.key), w.length};
    }
    if (!at.ends) [[unlikely]] {
      const auto every =
          std::min<std::uint32_t>(core_.state.config.acknowledge_every, std::max(core_.roce_window(c) / 2, 1U));
      h.bth.ack_request = ++c.since_ack_request >= every || at.asks;
    } else {
      h.bth.ack_request = true;
      h.bth.solicited = (w.flags & WorkFlags::solicited) != 0;
      h.immediate.value = w.immediate;
      h.invalidate.key = wire::Key(w.immediate);
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

  Core<W>& core_;
  Endings<W>& endings_;
  GoBackN<W>& recovery_;
};

}  // namespace weft::nic
