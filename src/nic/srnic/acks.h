// What a card that speaks srnic owes its peer: one ACK for requests and one for responses, each for the newest
// packet, with its place in its message echoed. Later ones replace earlier ones that have not left, except where that
// would lose which packets have arrived.
#pragma once

#include <algorithm>

#include "nic/completions.h"
#include "nic/srnic/streams.h"
#include "wire/syndrome.h"

namespace weft::nic {

template <World W>
class Acks {
 public:
  Acks(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  void owe(Context& c, Stream stream, wire::Syndrome syndrome = wire::Syndrome::ack()) {
    if (stream == Stream::requests_in) {
      c.owed_syndrome = syndrome.encode();
      c.owes_ack = true;
    } else {
      c.owes_response_ack = true;
    }
    core_.queue_acknowledgement(c);
  }
  [[nodiscard]] static bool owes(const Context& c, Stream stream) {
    return stream == Stream::requests_in ? c.owes_ack : c.owes_response_ack;
  }

  // The request `at` cannot be carried out. What was answered before must arrive first; then the peer is told, and then
  // the queue pair breaks.
  [[gnu::cold, gnu::noinline]] void owe_refusal(Context& c, wire::NakCode code, Status status, Refusal reason,
                                                wire::Sequence at) {
    core_.refuse(reason);
    if (c.broken_by == Refusal::none) c.broken_by = reason;
    c.responder_stopped = true;
    c.break_status = status;
    c.srnic.in.newest = at;
    c.srnic.in.run = 0;
    owe(c, Stream::requests_in, wire::Syndrome::nak(code));
  }

  // Sends what is owed.
  void acknowledge(Context& c) {
    if (c.state == QpState::error) return;
    if (c.owes_response_ack) {
      c.owes_response_ack = false;
      send(c, responses_in(c), wire::Syndrome::ack().encode());
    }
    if (!c.owes_ack || (c.responder_stopped && c.saved_pending > 0)) return;
    c.owes_ack = false;
    send(c, requests_in(c), c.owed_syndrome);
    if (c.responder_stopped) stop(c);
  }

  // May what is owed travel with a request? Good news may: it is the newest, whatever becomes of others.
  [[nodiscard]] static bool may_ride(Context& c) {
    return c.owes_ack && wire::Syndrome::is_ack(c.owed_syndrome) && !c.responder_stopped &&
           !requests_in(c).recovering();
  }
  void ride(Context& c, wire::Headers& h) {
    c.owes_ack = false;
    h.srnic_ack = {.syndrome = c.owed_syndrome,
                   .expected = requests_in(c).expected,
                   .run = 0,
                   .marked = c.marked,
                   .duplicates = static_cast<std::uint8_t>(c.duplicates)};
    c.marked = c.duplicates = 0;
    core_.count(Counter::acks_sent);
  }

  // At once: these `run` packets that end with `psn` are here. For what the next ACK would not say any more.
  void tell_arrived(Context& c, const Inflow& f, wire::Psn psn, std::uint16_t run, wire::Sequence at) {
    if (!core_.state.config.requester_bitmaps) return;
    emit(c, f, psn, at, {.syndrome = kSelective, .expected = f.expected, .run = run});
  }
  void tell_missing(Context& c, const Inflow& f, wire::Psn psn, std::uint16_t count) {
    emit(c, f, psn, f.in.newest, {.syndrome = wire::SrnicAck::kMissing, .expected = f.expected, .run = count});
  }
  // At once, too: what there is of packets up to `psn`.
  void answer_probe(Context& c, const Inflow& f, wire::Psn psn) {
    const bool all = psn.ahead_of(f.expected) <= 0;
    const std::uint16_t owed = f.stream == Stream::requests_in ? c.saved_pending : 0;
    emit(c, f, psn, wire::Sequence(0, 0, f.in.run_end.raw()),
         {.syndrome = wire::SrnicAck::kProbed, .expected = f.expected, .run = all ? owed : f.in.run});
  }

 private:
  static constexpr std::uint8_t kSelective = wire::Syndrome::nak(wire::NakCode::psn_sequence).encode();

  void send(Context& c, const Inflow& f, std::uint8_t syndrome) {
    const bool says_ack = wire::Syndrome::is_ack(syndrome);
    wire::SrnicAck srnic_ack{.syndrome = syndrome, .expected = f.expected};
    wire::Psn psn = says_ack ? f.expected.minus(1) : f.expected;
    if (says_ack && f.recovering() && core_.state.config.requester_bitmaps) {
      srnic_ack.syndrome = kSelective;
      srnic_ack.run = f.in.run;
      psn = f.in.run_end.minus(1);
    }
    emit(c, f, psn, f.in.newest, srnic_ack);
  }

  void emit(Context& c, const Inflow& f, wire::Psn psn, wire::Sequence at, const wire::SrnicAck& srnic_ack) {
    const bool requests = f.stream == Stream::requests_in;
    wire::Headers& h =
        core_.start_packet(c, requests ? wire::Opcode::srnic_ack : wire::Opcode::srnic_response_ack, psn);
    h.sequence = at;
    h.srnic_ack = srnic_ack;
    h.srnic_ack.marked = c.marked;
    h.srnic_ack.duplicates = static_cast<std::uint8_t>(c.duplicates);
    c.marked = c.duplicates = 0;
    core_.send_packet();
    core_.count(Counter::acks_sent);
  }

  [[gnu::cold, gnu::noinline]] void stop(Context& c) {
    const bool access = c.break_status == Status::remote_access;
    if (c.receive_entry != kNone && c.inbound == Inbound::send) {
      completions_.finish_receive(c, {.status = c.break_status, .reason = c.broken_by});
    }
    core_.world.notify({access ? EventKind::qp_access_error : EventKind::qp_request_error, c.qpn.raw()});
    completions_.break_off(c);
  }

  Core<W>& core_;
  Completions<W>& completions_;
};

}  // namespace weft::nic
