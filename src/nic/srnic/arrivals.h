// The order of what comes in, for requests and responses alike. In order: done at once. Ahead of its turn: placed at
// once, its end remembered, the host's software told, the peer told. What the software answers moves the expected PSN;
// the card leaves recovery when that falls into the run of the most advanced packets or just behind it, because all of
// that run has arrived even if the software has not heard of it yet (fast exit).
#pragma once

#include "base/canary.h"
#include "nic/srnic/acks.h"
#include "nic/srnic/burst.h"
#include "nic/srnic/streams.h"

namespace weft::nic {

template <World W>
class Arrivals {
 public:
  Arrivals(Core<W>& core, Acks<W>& acks) : core_(core), acks_(acks) {}

  // `side` is the half that the packet is for:
  //   bool in_order(c, p)                       carries it out; true: the expected PSN moves on
  //   OutOfOrder out_of_order(c, p)              places it, and remembers how it ends
  //   bool deliver(c, note)                     its turn has come; false: it was refused, and nothing follows
  template <class Side>
  void on_packet(Side& side, Context& c, const Inflow& f, const wire::Packet& p) {
    const wire::Psn psn = p.headers.bth.psn;
    const Arrival arrival = arrival_of(f, psn);
    if (p.packets > 1 && arrival != Arrival::in_order) [[unlikely]]
      return split_burst(p, c.mtu_shift, [&](const wire::Packet& one) { on_packet(side, c, f, one); });
    note_mark(c, p);
    if (arrival == Arrival::out_of_order) [[unlikely]]
      return on_out_of_order(side, c, f, p);
    if (arrival != Arrival::in_order) [[unlikely]]
      return on_useless(c, f, arrival);
    if (!side.in_order(c, p)) return;
    f.expected = psn.plus(p.packets);
    f.in.newest = p.headers.sequence.plus(p.packets - 1);
    if (p.headers.bth.ack_request || owes_bad_news(c, f)) acks_.owe(c, f.stream);
  }

  // The software: everything before `to` has arrived.
  template <class Side>
  void advance(Side& side, Context& c, const Inflow& f, wire::Psn to) {
    if (!f.recovering() || to.ahead_of(f.expected) <= 0 || to.ahead_of(f.in.run_end) > 0) return;
    const bool exits = to.ahead_of(f.run_start()) >= 0;  // [psn_left, psn_right + 1]
    const wire::Psn target = exits ? f.in.run_end.plus(canary(Canary::fast_exit_too_far) ? 1 : 0) : to;
    if (exits && to != target) core_.count(Counter::fast_exits);
    if (!deliver_before(side, c, f, target)) return;
    f.expected = target;
    if (exits) {
      f.in.run = 0;
      core_.count(Counter::recoveries_left);
      core_.tell({.stream = f.stream, .kind = LossEvent::Kind::exited, .base = f.expected}, c);
    }
    acks_.owe(c, f.stream);
  }

 private:
  // A NAK that has not left is a lie once the packet that it was about has arrived.
  static bool owes_bad_news(const Context& c, const Inflow& f) {
    return f.stream == Stream::requests_in && c.owes_ack && !wire::Syndrome::is_ack(c.owed_syndrome);
  }

  [[gnu::cold, gnu::noinline]] void on_useless(Context& c, const Inflow& f, Arrival arrival) {
    if (arrival == Arrival::too_far) return core_.refuse(Refusal::too_far_ahead);
    core_.refuse(Refusal::psn_duplicate);
    core_.count(Counter::duplicate_request);
    note_duplicate(c);
    if (!acks_.owes(c, f.stream)) acks_.owe(c, f.stream);
  }

  void note_mark(Context& c, const wire::Packet& p) {
    constexpr std::uint8_t kCongested = 3;
    if ((p.flow.traffic_class & 3) != kCongested) [[likely]]
      return;
    core_.count(Counter::ecn_marked_pkts);
    if (c.marked != wire::SrnicAck::kMostMarked) ++c.marked;
  }
  static void note_duplicate(Context& c) {
    if (c.duplicates != wire::SrnicAck::kMostDuplicates) ++c.duplicates;
  }

  template <class Side>
  [[gnu::noinline]] void on_out_of_order(Side& side, Context& c, const Inflow& f, const wire::Packet& p) {
    const wire::Psn psn = p.headers.bth.psn;
    if (psn != f.expected) core_.count(Counter::out_of_sequence);
    switch (side.out_of_order(c, p)) {
      case OutOfOrder::dropped: return;
      case OutOfOrder::finished: return on_finished(c, f, psn);
      case OutOfOrder::placed: break;
    }
    core_.count(Counter::placed_early);
    if (!f.recovering()) core_.count(Counter::recoveries_entered);
    const SrnicInbound before = f.in;
    const Growth growth = grow_run(f, psn);
    if (growth == Growth::repeats) note_duplicate(c);
    if (growth == Growth::begins && before.run != 0 && acks_.owes(c, f.stream)) {
      acks_.tell_arrived(c, f, before.run_end.minus(1), before.run, before.newest);
    }
    if (growth == Growth::begins || growth == Growth::extends) {
      f.in.newest = p.headers.sequence;
      if (!owes_bad_news(c, f)) acks_.owe(c, f.stream);
    } else {
      // The newest packet's ACK would not speak of this one. Not even of the expected one, before the software has
      // answered; and by then the peer has heard of packets that it sent later, and thinks that this one is lost again.
      acks_.tell_arrived(c, f, psn, 1, p.headers.sequence);
    }
    core_.tell({.stream = f.stream, .kind = LossEvent::Kind::arrived, .psn = psn, .base = f.expected}, c);
  }

  // The oldest of all has been carried out though others are here already. The software says how far those reach.
  void on_finished(Context& c, const Inflow& f, wire::Psn psn) {
    f.expected = psn.plus(1);
    if (c.state == QpState::error) return;
    acks_.owe(c, f.stream);
    core_.tell({.stream = f.stream, .kind = LossEvent::Kind::arrived, .psn = psn, .base = f.expected}, c);
  }

  template <class Side>
  bool deliver_before(Side& side, Context& c, const Inflow& f, wire::Psn end) {
    ReorderNotes& notes = core_.state.reorder_notes;
    while (const ReorderNote* note = read_note(core_, notes.take_before(f.in.notes, end))) {
      const ReorderNote copy = *note;
      f.expected = copy.psn;
      if (!side.deliver(c, copy)) return false;
      if (c.state == QpState::error) return false;
    }
    return true;
  }

  Core<W>& core_;
  Acks<W>& acks_;
};

}  // namespace weft::nic
