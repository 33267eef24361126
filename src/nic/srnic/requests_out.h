// The requester's half: work entries become packets that say where they belong; what the peer says of them completes
// work in order. Nothing is remembered of what is under way: to send a packet again takes its PSN and its place, and
// the rest is read anew from the work entry.
#pragma once

#include <algorithm>

#include "nic/rc/packets.h"
#include "nic/rc/peer_traffic.h"
#include "nic/rc/send_queue.h"
#include "nic/srnic/acks.h"
#include "nic/srnic/streams.h"

namespace weft::nic {

template <World W>
class RequestsOut : public SendQueue<W, RequestsOut<W>> {
  using Queue = SendQueue<W, RequestsOut<W>>;
  friend Queue;
  using Queue::core_, Queue::completions_, Queue::stall;

 public:
  RequestsOut(Core<W>& core, Completions<W>& completions, Acks<W>& acks) : Queue(core, completions), acks_(acks) {}

  // New work that could be sent now.
  [[nodiscard]] bool may_send(const Context& c) const {
    if (c.sq_next == c.sq_posted || c.rnr_wait || c.sq_stalled) return false;
    if (packets_under_way(c) >= window_of(core_, c)) return false;
    if (c.state != QpState::rts) [[unlikely]] {  // in SQD only what has been begun
      if (c.state != QpState::sqd || c.next_offset == 0) return false;
    }
    if (c.sq_next == c.sq_done) return true;  // nothing before it to wait for
    if (c.next_offset == 0 && c.next_psn.since(c.done_psn) >= kFarthest) return false;
    return !c.head_waits;
  }

  void turn(Context& c, TurnBudget& budget) { Queue::send_work(c, budget); }

  // The packet at this place of the send queue, again. False: its memory is gone.
  // `asks`: force ack_request, because this may be the last packet sent.
  bool send_again(Context& c, WorkPosition at, wire::Psn psn, bool asks, TurnBudget& budget) {
    const Work& w = read_work_again(core_, c, at.entry);
    if (at.offset >= request_packets(w, c.mtu_shift)) return true;  // the peer's echo was wrong
    core_.count(Counter::retransmitted_pkts);
    const Refusal r =
        reads_back(w.kind) ? emit_ask(c, w, at.entry, psn) : emit(c, w, at.entry, {at.offset, asks, {}}, psn, budget);
    if (r == Refusal::none) return true;
    if (at.entry == c.sq_done) completions_.fail_work(c, Status::local_protection, r);
    return false;
  }

  // Everything before `end`, which is not behind unacked_psn, has arrived over there. Work completes in order; a READ
  // or atomic only when it has been answered.
  void acknowledged(Context& c, wire::Psn end) {
    c.unacked_psn = end;
    retire(c);
  }
  void retire(Context& c) {
    while (c.sq_done != c.sq_next) {
      const Work& w = read_work_under_way(core_, c, c.sq_done);
      const std::uint32_t packets = request_packets(w, c.mtu_shift);
      if (c.unacked_psn.since(c.done_psn) < packets) break;
      if (reads_back(w.kind) && (w.flags & WorkFlags::answered) == 0) break;
      c.done_psn = c.done_psn.plus(packets);
      completions_.finish_work(c, Status::success);
      if (c.state == QpState::error) [[unlikely]]
        return;
    }
    completions_.fail_stalled(c);
  }

  // All responses to this READ or atomic have arrived. That they were given says that the peer had everything up to it.
  void answered(Context& c, std::uint32_t entry) {
    const Work& w = read_work_under_way(core_, c, entry);
    if ((w.flags & WorkFlags::answered) == 0 && c.reads_under_way > 0) --c.reads_under_way;
    c.head_waits = false;
    mark_work(core_, w, WorkFlags::answered, true);
    wire::Psn end = c.done_psn;
    for (std::uint32_t i = c.sq_done; i != entry + 1; ++i) {
      end = end.plus(request_packets(read_work_under_way(core_, c, i), c.mtu_shift));
    }
    if (end.since(c.done_psn) > c.unacked_psn.since(c.done_psn)) c.unacked_psn = end;
    retire(c);
  }

 private:
  [[nodiscard]] static bool must_wait(const Context& c, const Work& w) {
    if (c.sq_next == c.sq_done) return false;
    // IBA 10.8.3.3: a fence waits for every READ and atomic before it.
    if (c.reads_under_way != 0 && c.next_offset == 0 && (w.flags & WorkFlags::fence) != 0) return true;
    return reads_back(w.kind) && !may_ask(c, w);
  }
  [[nodiscard]] static bool has_begun(const Context&) {
    return false;
  }  // whatever was sent is under way until it is through

  void ask(Context& c, const Work& w, TurnBudget& budget) {
    --budget.room;
    if (c.max_reads == 0) return stall(c, Status::local_qp_operation, Refusal::reads_disabled);
    if ((w.flags & WorkFlags::answered) != 0) [[unlikely]]
      mark_work(core_, w, WorkFlags::answered, false);
    if (const Refusal r = emit_ask(c, w, c.sq_next, c.next_psn); r != Refusal::none) {
      return stall(c, Status::local_protection, r);
    }
    time_answer(core_, c, c.next_psn);
    c.next_psn = c.next_psn.plus(1);
    c.long_read = is_long(c, w);
    ++c.reads_under_way;
    ++c.sq_next;
  }

  void send_message(Context& c, const Work& w, TurnBudget& budget) {
    if (c.next_offset == 0 && uses_receive(w.kind)) number_send(core_, w, c.next_ssn++);
    const std::uint32_t window = window_of(core_, c);
    while (budget.bytes > 0 && budget.room > 0 && packets_under_way(c) < window) {
      const std::uint32_t room = std::min(window - packets_under_way(c), budget.room);
      const std::uint32_t left = w.length - c.next_offset;
      typename Core<W>::Burst burst;
      if (left > path_mtu(c) && !is_call(w.kind)) {
        const bool whole = w.sges == 1;
        burst = core_.burst_of(
            c, {.bytes = left, .message = w.length, .room = room, .turn = budget.bytes, .in_one_piece = whole});
      }
      const std::uint32_t packets = burst.packets;
      const bool ends_turn = packets >= room || budget.bytes <= std::int64_t{packets} << c.mtu_shift;
      const bool asks = ends_turn && must_ask(core_, c);
      const Refusal r = emit(c, w, c.sq_next, {c.next_offset >> c.mtu_shift, asks, burst}, c.next_psn, budget);
      if (r != Refusal::none) return stall(c, Status::local_protection, r);
      if (core_.out.headers.bth.ack_request) time_answer(core_, c, c.next_psn.plus(packets - 1));
      budget.room -= packets;
      c.next_psn = c.next_psn.plus(packets);
      c.next_offset += packets << c.mtu_shift;
      if (packets << c.mtu_shift >= left) {
        c.next_offset = 0;
        ++c.sq_next;
        return;
      }
    }
  }

  // Packets of a message: the first, counted from 0, whether they ask for an ACK in any case, how many leave how.
  struct Slice {
    std::uint32_t first;
    bool asks;
    typename Core<W>::Burst burst;
  };
  // One packet of a SEND or WRITE, or a burst of them.
  Refusal emit(Context& c, const Work& w, std::uint32_t entry, Slice some, wire::Psn psn, TurnBudget& budget) {
    const std::uint32_t offset = some.first << c.mtu_shift;
    const std::uint32_t bytes = std::min(some.burst.packets << c.mtu_shift, w.length - offset);
    const bool ends = offset + bytes == w.length;
    Pieces pieces;
    if (const Refusal r = pieces_of(core_, c, w, offset, bytes, pieces); r != Refusal::none) return r;
    const auto opcode = static_cast<std::uint8_t>(srnic_opcodes(w.kind).at(some.first == 0, ends));
    // Large packets go many at a time, and of one size.
    const bool rides = bytes <= kSmall && some.first == 0 && ends &&
                       (w.kind == WorkKind::send || w.kind == WorkKind::write) && Acks<W>::may_ride(c);
    wire::Headers& h = core_.start_packet(c, static_cast<wire::Opcode>(rides ? kWithAck | opcode : opcode), psn);
    if (rides) acks_.ride(c, h);
    const bool writes = has_target(w.kind);
    h.sequence = wire::Sequence(entry, uses_receive(w.kind) ? static_cast<std::uint32_t>(ssn_of(w)) : 0, some.first);
    if (writes) h.reth = {w.remote.address + offset, wire::Key(w.key), 0};
    h.bth.ack_request = ends || some.asks || asks_for_srnic_ack(core_, c, psn, some.burst.packets);
    if (ends) {
      core_.out.last = core_.is_last(c, entry);
      fill_end(w, h);
    }
    core_.out.payload = {pieces.data(), pieces.size()};
    core_.out.payload_bytes = bytes;
    core_.out.packets = some.burst.packets;
    core_.out.one_copy = some.burst.one_copy;
    core_.send_packet();
    budget.bytes -= bytes;
    return Refusal::none;
  }

  // The one packet of a READ or atomic. The answer must have somewhere to go before it is asked for.
  Refusal emit_ask(Context& c, const Work& w, std::uint32_t entry, wire::Psn psn) {
    if (const Refusal r = check_answers_room(core_, c, w, 0); r != Refusal::none) return r;
    const auto opcode = w.kind == WorkKind::read           ? wire::Opcode::srnic_read_request
                        : w.kind == WorkKind::compare_swap ? wire::Opcode::srnic_compare_swap
                                                           : wire::Opcode::srnic_fetch_add;
    wire::Headers& h = core_.start_packet(c, opcode, psn);
    h.sequence = wire::Sequence(entry, 0, 0);
    h.bth.ack_request = true;
    fill_question(w, 0, h);
    core_.send_packet();
    return Refusal::none;
  }

  // The answers to all READs under way must fit into half the circle of their PSNs: long ones go alone, and as many
  // others as may be under way fit in any case.
  static constexpr std::uint32_t kLongRead = 1U << 15;  // packets
  static_assert(kLongRead * 0xFF < wire::Psn::kCount / 2);
  [[nodiscard]] static bool is_long(const Context& c, const Work& w) {
    return w.kind == WorkKind::read && packets_of(w.length, c.mtu_shift) > kLongRead;
  }
  [[nodiscard]] static bool may_ask(const Context& c, const Work& w) {
    if (c.reads_under_way == 0) return true;
    return c.reads_under_way < c.max_reads && !c.long_read && !is_long(c, w);
  }
  // So far behind the oldest work nothing new begins: with the longest message, it is less than the circle of PSNs.
  static constexpr std::uint32_t kFarthest = wire::Psn::kCount / 4;

  static constexpr std::uint8_t kWithAck = 0x20;
  static constexpr std::uint32_t kSmall = 256;

  Acks<W>& acks_;
};

}  // namespace weft::nic
