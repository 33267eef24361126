// THE CARD. Its whole face is a handful of calls: a doorbell rang, packets arrived, time has passed, transmit. It
// never waits: effects go to the world it is built for (nic/world.h).
#pragma once

#include <algorithm>
#include <span>

#include "base/prefetch.h"
#include "nic/rc/calls.h"
#include "nic/rc/peer_traffic.h"
#include "nic/reveal.h"
#include "nic/ring_entry.h"
#include "nic/roce/roce.h"
#include "nic/srnic/srnic.h"
#include "nic/star/stateful.h"
#include "nic/star/stateless.h"
#include "nic/ud/datagram.h"

namespace weft::nic {

template <World W>
class Card {
 public:
  Card(CardState& state, W& world) : core_(state, world) {}

  // The host has posted work to this queue pair, or changed its state.
  void on_doorbell(Time now, std::uint32_t slot) {
    core_.moment = now;
    Context& c = context(slot);
    if (c.qpn.raw() == 0) [[unlikely]]
      return;  // destroyed before its doorbell was heard
    if (c.state == QpState::error) [[unlikely]]
      return break_off(c);
    if (c.state == QpState::sqe) [[unlikely]]
      return completions_.flush_sends(c);
    if (c.service == wire::Service::ud) return core_.schedule(c);
    if (c.serves && Calls<W>::has_turn(c)) [[unlikely]]
      core_.schedule(c);
    settle_account(core_, c);  // somebody may have left, and others may go
    with_transport(c, [&](auto& transport) {
      if (transport.ready(c)) core_.schedule(c);
      transport.note_drained(c);
    });
  }

  // The same as on_doorbell(), and then somebody has a turn: if nobody stands in the schedule queue, this queue pair,
  // which need not stand in it either.
  void on_doorbell_and_turn(Time now, std::uint32_t slot) {
    const Context& c = core_.state.contexts[slot];
    const bool alone = core_.state.ready.empty() && !c.scheduled;
    if (alone && c.state == QpState::rts) [[likely]] {
      core_.moment = now;
      return turn(slot);
    }
    on_doorbell(now, slot);
    give_turns(now, 1);
  }

  // The host has posted work to a stateless queue pair (StaR), or wants it said again.
  void on_stateless_post(Time now, StatelessBlock& block) {
    core_.moment = now;
    stateless_.on_post(block);
  }

  // The host has found out that there is nobody to speak with, for this reason: the connection breaks.
  void on_no_partner(Time now, std::uint32_t slot, Refusal why = Refusal::star_no_partner) {
    core_.moment = now;
    Context& c = core_.state.contexts[slot];
    if (c.qpn.raw() == 0 || c.state == QpState::error) return;
    if (c.dialect == Dialect::star) return stateful_.give_up(c, why);
    if (c.sq_done != c.sq_posted) return completions_.fail_work(c, Status::retry_exceeded, why);
    if (c.broken_by == Refusal::none) c.broken_by = why;
    core_.refuse(why);
    core_.world.notify({EventKind::qp_fatal, c.qpn.raw()});
    completions_.break_off(c);
  }

  void on_packet(Time now, const wire::Packet& p) {
    core_.moment = now;
    receive(p);
  }
  // This packet comes next, or soon: its context is fetched ahead.
  void expect(const wire::Packet& p) {
    const Context& c = core_.state.contexts[core_.state.contexts.slot_of(p.headers.bth.destination)];
    const bool response = wire::info(p.headers.bth.opcode).is_response();
    prefetch(&c);
    prefetch(response ? static_cast<const void*>(&c.sq) : &c.expected_psn);
  }
  void on_packets(Time now, std::span<const wire::Packet> packets) {
    core_.moment = now;
    if (packets.size() > 2) {  // fewer are not worth it
      std::uint32_t requests = 0;
      for (const wire::Packet& p : packets) fetch_behind_context(p, requests);
    }
    for (std::size_t i = 0; i < packets.size(); ++i) {
      core_.behind = packets.subspan(i + 1);
      receive(packets[i]);
    }
    core_.behind = {};
    core_.fetched = {};
  }
  // The port could not make a packet of what arrived.
  void on_refused(Refusal why) { core_.refuse(why); }

  void on_time(Time now) {
    core_.moment = now;
    CardState& s = core_.state;
    for (std::uint32_t slot = s.timers.pop_due(now); slot != kNone; slot = s.timers.pop_due(now)) {
      Context& c = context(slot);
      with_transport(c, [&](auto& transport) { transport.on_deadline(c); });
      settle_account(core_, c);
    }
    for (std::uint32_t cq = s.cq_timers.pop_due(now); cq != kNone; cq = s.cq_timers.pop_due(now)) {
      raise_completion_event(s, core_.world, cq);
    }
  }
  [[nodiscard]] Time next_deadline() const { return std::min(core_.state.timers.next(), core_.state.cq_timers.next()); }

  [[nodiscard]] bool has_work() const { return !core_.state.ready.empty() || !core_.state.owing.empty(); }

  // The host's retransmission software answers a loss event.
  void on_control(Time now, const ControlMessage& m) {
    core_.moment = now;
    Context& c = context(m.slot);
    if (c.qpn != m.qpn || m.qpn.raw() == 0 || c.dialect != Dialect::srnic || c.state == QpState::error) return;
    core_.count(Counter::control_messages);
    srnic_.on_control(c, m);
  }

  // The turn of this queue pair has ended, in a world where turns take time.
  void on_dequeue(Time now, std::uint32_t slot) {
    core_.moment = now;
    Context& c = core_.state.contexts[slot];
    c.scheduled = false;
    if (c.qpn.raw() == 0) return;  // destroyed meanwhile
    if (c.state == QpState::error) return break_off(c);
    if (is_ready(c)) core_.schedule(c);
  }

  // Sends what is owed, then gives up to `turns` queue pairs their turn.
  void transmit(Time now, std::uint32_t turns) {
    acknowledge(now);
    give_turns(now, turns);
  }
  void acknowledge(Time now) {
    core_.moment = now;
    SlotQueue& owing = core_.state.owing;
    for (std::uint32_t left = owing.size(); left > 0; --left) {
      Context& c = context(owing.pop());
      c.ack_queued = false;
      with_transport(c, [&](auto& transport) { transport.acknowledge(c); });
    }
  }
  void give_turns(Time now, std::uint32_t turns) {
    core_.moment = now;
    auto& ready = core_.state.ready;
    for (; turns > 0 && !ready.empty(); --turns) {
      fetch_ahead(ready.peek(kAhead));
      turn(ready.pop());
    }
  }

 private:
  static constexpr std::uint32_t kAhead = 4;  // turns

  Context& context(std::uint32_t slot) {
    core_.world.touch(OnChip::context, slot);
    return core_.state.contexts[slot];
  }
  void fetch_ahead(std::uint32_t slot) {
    if (slot == kNone) return;
    const Context& c = core_.state.contexts[slot];
    prefetch(&c);
    prefetch(&c.sq);
  }

  // Contexts of a batch are here by now. What is read next stands in them: the oldest work that an acknowledgement
  // finishes, and the shared receive that a request takes if those before it take one each.
  void fetch_behind_context(const wire::Packet& p, std::uint32_t& requests) {
    const Context& c = core_.state.contexts[core_.state.contexts.slot_of(p.headers.bth.destination)];
    if (c.dialect == Dialect::star) {
      if (c.link != nullptr) c.link->expect(p.headers.bth.psn);
    } else if (wire::info(p.headers.bth.opcode).is_response()) {
      if (c.sq != nullptr) prefetch(ring_entry(c.sq, c.sq_done, c.sq_shift, c.sq_stride));
    } else if (c.shared_rq != kNone) {
      const SharedReceiveRing& srq = core_.state.srqs[c.shared_rq];
      if (srq.live) prefetch(srq.entries + std::size_t{srq.coming(requests++)} * srq.stride);
    }
  }

  void turn(std::uint32_t slot) {
    Context& c = context(slot);
    c.scheduled = false;
    if (c.state == QpState::error) [[unlikely]] {
      break_off(c);
      return settle_account(core_, c, true);
    }
    TurnBudget budget{core_.state.config.works_per_turn, core_.state.config.burst_bytes, peer_room(core_, c)};
    if (c.service == wire::Service::ud) {
      datagrams_.turn(c, budget);
    } else {
      if (c.serves && Calls<W>::has_turn(c)) [[unlikely]]
        calls_.turn(c, budget);
      // The next call finds the place of the answer before it free: the peer hears first that it has come.
      if (c.may_call && c.owes_ack && !c.responder_stopped) [[unlikely]]
        with_transport(c, [&](auto& transport) { transport.acknowledge(c); });
      with_transport(c, [&](auto& transport) { transport.turn(c, budget); });
      settle_account(core_, c, true);
    }
    if constexpr (W::kCapabilities.timed_turns) {
      c.scheduled = true;
      core_.world.turn_given(slot);
    }
    if (is_ready(c)) core_.schedule(c);
  }
  [[nodiscard]] bool is_ready(Context& c) {
    if (c.service == wire::Service::ud) return c.sq_next != c.sq_posted && c.state == QpState::rts;
    if (c.state == QpState::error) return false;
    if (c.serves && Calls<W>::has_turn(c)) [[unlikely]]
      return true;
    bool ready = false;
    with_transport(c, [&](auto& transport) { ready = transport.ready(c); });
    return ready;
  }

  // Calls `use` with the transport that the connection speaks. An undecided one has nothing to say to anybody yet.
  template <class Use>
  void with_transport(const Context& c, Use&& use) {
    if (c.dialect == Dialect::srnic) return use(srnic_);
    if (c.dialect == Dialect::roce) return use(roce_);
    if (c.dialect == Dialect::star) return use(stateful_);
  }
  void break_off(Context& c) {
    if (c.dialect == Dialect::star) stateful_.abandon(c);
    completions_.break_off(c);
  }

  void receive(const wire::Packet& p) {
    core_.in_hand = &p;
    judge_and_carry_out(p);
    core_.in_hand = nullptr;
  }

  void judge_and_carry_out(const wire::Packet& p) {
    core_.count(Counter::rcvd_pkts, p.packets);
    core_.count(Counter::rcvd_bytes, p.payload.size());
    const wire::OpcodeInfo& info = wire::info(p.headers.bth.opcode);
    const wire::Qpn qpn = p.headers.bth.destination;
    Context* c = core_.state.contexts.find(qpn);
    if (const Refusal r = judge(c, qpn, p, info); r != Refusal::none) [[unlikely]] {
      if (info.service == wire::Service::stateless) return stateless_.on_packet(p);
      if (r != Refusal::wrong_dialect || !adopt_dialect(*c, info)) return core_.refuse(r);
    }
    if (!c->established) [[unlikely]] {
      c->established = true;
      if (c->state == QpState::rtr) core_.world.notify({EventKind::communication_established, qpn.raw()});
    }
    if (info.service == wire::Service::rc || info.service == wire::Service::uc) {
      if (c->dialect == Dialect::srnic) return srnic_.on_packet(*c, p, info);
      if (c->dialect == Dialect::star) return stateful_.on_packet(*c, p);
      roce_.on_packet(*c, p, info);
    } else if (info.service == wire::Service::ud) {
      datagrams_.on_packet(*c, p);
    } else {
      core_.refuse(Refusal::cnp_unexpected);  // no congestion control here to hear it
    }
  }

  // Is this packet for a queue pair of ours, from its peer, in a state to hear it? IBA 9.6.1.
  [[nodiscard]] Refusal judge(const Context* c, wire::Qpn qpn, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (c == nullptr) {
      const bool reserved = qpn.raw() <= 1 || qpn == wire::kMulticastQpn;
      return reserved ? Refusal::reserved_qpn : Refusal::no_such_qp;
    }
    core_.world.touch(OnChip::context, core_.slot(*c));
    if (info.service != c->service && info.service != wire::Service::cnp) return Refusal::wrong_service;
    const bool listens =
        c->state == QpState::rtr || c->state == QpState::rts || c->state == QpState::sqd || c->state == QpState::sqe;
    if (!listens || (info.is_response() && c->state == QpState::rtr)) return Refusal::qp_not_ready;
    if (c->service == wire::Service::ud) {
      if (!core_.state.port.has(p.flow.destination)) return Refusal::not_our_address;
    } else {
      if (p.flow.destination != core_.state.port.gids[c->gid_index]) return Refusal::not_our_address;
      if (p.flow.source != c->peer) return Refusal::wrong_peer;
    }
    if (!wire::partitions_match(p.headers.bth.pkey, c->pkey)) return Refusal::bad_pkey;
    return info.dialect == c->dialect ? Refusal::none : Refusal::wrong_dialect;
  }

  // A packet in another dialect than ours, but from our peer. It settles an open question; and a peer that was thought
  // to speak srnic, and has not been heard to, may have missed our answer: roce is what everybody understands. The
  // other way round, we may have missed its answer. If nothing of ours is under way in roce, the peer cannot fall back
  // because of it, and we follow; if something is, the peer falls back when it arrives. So both never change at once.
  [[gnu::cold, gnu::noinline]] bool adopt_dialect(Context& c, const wire::OpcodeInfo& info) {
    const bool open = c.by_agreement && !c.established;
    const bool falls_back = open && c.dialect == Dialect::srnic && info.dialect == Dialect::roce;
    const bool follows =
        open && c.dialect == Dialect::roce && info.dialect == Dialect::srnic && c.sent_psn == c.done_psn;
    if (info.dialect == Dialect::star) return false;  // its state would have to move first
    if (c.service != wire::Service::rc || (c.dialect != Dialect::undecided && !falls_back && !follows)) return false;
    if (falls_back) core_.revoke_from(c);
    if (falls_back) completions_.flush_out_of_order(c);
    begin_dialect(c, info.dialect, core_.state.config);
    core_.state.timers.disarm(core_.slot(c));
    with_transport(c, [&](auto& transport) {
      if (transport.ready(c)) core_.schedule(c);
    });
    return true;
  }

  Core<W> core_;
  Completions<W> completions_{core_};
  Calls<W> calls_{core_, completions_};
  Roce<W> roce_{core_, completions_, calls_};
  Srnic<W> srnic_{core_, completions_, calls_};
  Datagrams<W> datagrams_{core_, completions_};
  Stateful<W> stateful_{core_, completions_};
  Stateless<W> stateless_{core_, completions_};
};

}  // namespace weft::nic
