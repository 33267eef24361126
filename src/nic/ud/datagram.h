// Unreliable datagrams: one packet is one message, to anyone who knows the Q_Key.
#pragma once

#include "base/canary.h"
#include "nic/rc/send_queue.h"
#include "wire/grh.h"

namespace weft::nic {

template <World W>
class Datagrams {
 public:
  Datagrams(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  void turn(Context& c, TurnBudget& budget) {
    WorkFetch<W> fetch(core_, c);
    while (!budget.spent() && c.sq_next != c.sq_posted && c.state == QpState::rts) {
      const Work& w = fetch.next(budget.works);
      send(c, w);
      --budget.works;
      budget.bytes -= w.length;
    }
    fetch.drop();
    note_drained(c);
  }
  // In SQD: what has left is all there is to wait for.
  void note_drained(Context& c) {
    if (c.state != QpState::sqd || c.drained) [[likely]]
      return;
    c.drained = true;
    if (c.drain_notify) core_.world.notify({EventKind::sq_drained, c.qpn.raw()});
  }

  void on_packet(Context& c, const wire::Packet& p) {
    if (p.headers.deth.qkey != c.qkey && !canary(Canary::any_queue_key)) return core_.refuse(Refusal::bad_qkey);
    if (p.payload.size() > std::size_t{1} << core_.state.port.mtu_shift) return core_.refuse(Refusal::bad_length);
    if (!completions_.take_receive(c)) {
      core_.count(Counter::out_of_buffer);
      return core_.refuse(Refusal::no_receive);
    }
    // A datagram that does not fit is dropped without a word, and its receive entry waits for the next.
    const Receive& r = read_receive_under_way(core_, c, c.receive_entry);
    if (r.length < wire::kGrhBytes + p.payload.size()) return core_.refuse(Refusal::receive_too_small);
    const auto grh = wire::make_grh(p.flow, p.headers.bth.opcode, p.payload.size());
    Refusal why = scatter(core_, c, sges_of(r), 0, grh);
    if (why == Refusal::none) why = scatter(core_, c, sges_of(r), wire::kGrhBytes, p.payload);
    const auto bytes = static_cast<std::uint32_t>(wire::kGrhBytes + p.payload.size());
    if (why == Refusal::none) {
      return completions_.finish_receive(
          c, {.bytes = bytes, .headers = &p.headers, .grh = true, .traffic_class = p.flow.traffic_class});
    }
    core_.refuse(why);
    completions_.fail_receive(c, why);
  }

 private:
  void send(Context& c, const Work& w) {
    if (w.length > 1U << core_.state.port.mtu_shift) {
      return completions_.fail_work(c, Status::local_length, Refusal::datagram_too_long);
    }
    Pieces pieces;
    if (const Refusal r = pieces_of(core_, c, w, 0, w.length, pieces); r != Refusal::none) {
      return completions_.fail_work(c, Status::local_protection, r);
    }
    const bool immediate = w.kind == WorkKind::send_immediate;
    wire::Headers& h =
        core_.start_packet(c, immediate ? wire::Opcode::ud_send_only_imm : wire::Opcode::ud_send_only, c.next_psn);
    const AddressVector& to = w.datagram.to;
    core_.out.flow.source = core_.state.port.gids[to.gid_index];
    core_.out.flow.destination = to.destination;
    wire::set_marks(core_.out.flow,
                    {.source_port = to.udp_source_port, .traffic_class = to.traffic_class, .hop_limit = w.hop_limit});
    h.bth.destination = wire::Qpn(w.key);
    h.bth.solicited = (w.flags & WorkFlags::solicited) != 0;
    // IBA 10.2.5: a Q_Key with the high bit set stands for the queue pair's own.
    h.deth = {(w.datagram.qkey & 0x8000'0000U) != 0 ? c.qkey : wire::Qkey(w.datagram.qkey), c.qpn};
    h.immediate.value = w.immediate;
    core_.out.payload = {pieces.data(), pieces.size()};
    core_.out.payload_bytes = w.length;
    core_.send_packet();
    c.next_psn = c.sent_psn = c.done_psn = c.unacked_psn = c.next_psn.plus(1);
    ++c.sq_next;
    completions_.finish_work(c, Status::success);
  }

  Core<W>& core_;
  Completions<W>& completions_;
};

}  // namespace weft::nic
