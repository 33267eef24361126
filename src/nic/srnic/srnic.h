// A reliable connection between two Weft cards: SRNIC's transport. The sibling of nic/roce/roce.h, behind the same
// calls; which one a connection uses is in its context.
#pragma once

#include "nic/completions.h"
#include "nic/srnic/acks.h"
#include "nic/srnic/arrivals.h"
#include "nic/srnic/requests_in.h"
#include "nic/srnic/requests_out.h"
#include "nic/srnic/responses_in.h"
#include "nic/srnic/responses_out.h"
#include "nic/srnic/selective_repeat.h"

namespace weft::nic {

template <World W>
class Srnic {
 public:
  Srnic(Core<W>& core, Completions<W>& completions, Calls<W>& calls)
      : core_(core), completions_(completions), calls_(calls) {}

  // Active, with credit: it may stand in the schedule queue.
  [[nodiscard]] bool ready(Context& c) {
    if (recovery_.may_retry(c)) return !limits_retries(core_, c) || may_go_or_waits(core_, c);
    const bool has_credit =
        requests_out_.may_send(c) || (responses_out_.has_more(c) && packets_before_response(c) < window_of(core_, c));
    return has_credit && may_go_or_waits(core_, c);
  }

  void on_packet(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (c.responses_suspended) [[unlikely]]
      recovery_.resume_responses(c);
    switch (info.verb) {
      case wire::Verb::ack: recovery_.on_ack(c, p, Stream::requests_out); break;
      case wire::Verb::response_ack: recovery_.on_ack(c, p, Stream::responses_out); break;
      case wire::Verb::read_response:
      case wire::Verb::atomic_ack: on_response(c, p); break;
      case wire::Verb::probe: return on_probe(c, p, requests_in(c));
      case wire::Verb::response_probe: return on_probe(c, p, responses_in(c));
      default:
        if (info.srnic_ack && !took_srnic_ack(c, p)) return;
        on_request(c, p);
        // A request lets nothing of ours go on but answers: the requester's part of the context need not be fetched.
        if (!info.srnic_ack && !responses_out_.has_more(c)) return;
    }
    go_on(c);
  }

  // What was lost first, then what is owed to the peer, then what is new.
  void turn(Context& c, TurnBudget& budget) {
    const wire::Psn next_request = c.next_psn;
    const std::uint32_t responses_before = c.responses_under_way;
    recovery_.turn(c, budget);
    if (c.state != QpState::error) responses_out_.turn(c, budget);
    if (c.state != QpState::error) requests_out_.turn(c, budget);
    if (c.state == QpState::error) return;
    const bool requests = c.next_psn != next_request, responses = c.responses_under_way != responses_before;
    requests || responses ? recovery_.sent(c, requests, responses) : recovery_.watch(c);
    requests_out_.note_drained(c);
  }

  void acknowledge(Context& c) { acks_.acknowledge(c); }
  void note_drained(Context& c) { requests_out_.note_drained(c); }
  void on_deadline(Context& c) {
    recovery_.on_deadline(c);
    go_on(c);
  }

  void on_control(Context& c, const ControlMessage& m) {
    switch (m.kind) {
      case ControlMessage::Kind::retry: recovery_.on_retry(c, m.ring); break;
      case ControlMessage::Kind::leave: recovery_.on_leave(c, m.stream, m.count); break;
      case ControlMessage::Kind::advance:
        if (m.stream == Stream::requests_in) {
          if (!c.responder_stopped) arrivals_.advance(requests_in_, c, requests_in(c), m.psn);
        } else {
          const wire::Psn unacked = c.unacked_psn;
          arrivals_.advance(responses_in_, c, responses_in(c), m.psn);
          if (c.state != QpState::error) recovery_.answered(c, unacked);
        }
        break;
      case ControlMessage::Kind::missing: {
        const Inflow flow = m.stream == Stream::requests_in ? requests_in(c) : responses_in(c);
        if (flow.recovering()) acks_.tell_missing(c, flow, m.psn, m.count);
        break;
      }
    }
    go_on(c);
  }

 private:
  // Takes the ACK that travels with a request. No NAK travels so. False: nothing of the packet counts.
  bool took_srnic_ack(Context& c, const wire::Packet& p) {
    if (!wire::Syndrome::is_ack(p.headers.srnic_ack.syndrome)) {
      core_.refuse(Refusal::bad_syndrome);
      return false;
    }
    recovery_.on_ack(c, p, Stream::requests_out);
    return c.state != QpState::error;
  }
  void on_request(Context& c, const wire::Packet& p) {
    if (c.responder_stopped) return core_.refuse(Refusal::qp_not_ready);
    arrivals_.on_packet(requests_in_, c, requests_in(c), p);
  }
  [[gnu::cold, gnu::noinline]] void on_probe(Context& c, const wire::Packet& p, const Inflow& flow) {
    const wire::Psn psn = p.headers.bth.psn;
    if (c.responder_stopped && flow.stream == Stream::requests_in) return core_.refuse(Refusal::qp_not_ready);
    if (psn.ahead_of(flow.expected) > static_cast<std::int32_t>(kMaxWindow))
      return core_.refuse(Refusal::too_far_ahead);
    acks_.answer_probe(c, flow, psn);
    // The oldest packet is here, and the software should have said so: it has not heard of it, perhaps.
    if (flow.recovering() && flow.run_start().ahead_of(flow.expected) <= 0) {
      core_.tell({.stream = flow.stream, .kind = LossEvent::Kind::arrived, .psn = flow.expected, .base = flow.expected},
                 c);
    }
    go_on(c);
  }
  void on_response(Context& c, const wire::Packet& p) {
    const std::uint32_t done = c.sq_done;
    const wire::Psn expected = c.responses.in_expected, unacked = c.unacked_psn;
    arrivals_.on_packet(responses_in_, c, responses_in(c), p);
    if (c.state == QpState::error) return;
    if (c.sq_done != done || c.responses.in_expected != expected) recovery_.answered(c, unacked);
    if (c.unacked_psn != unacked) on_answer(core_, c, c.unacked_psn);
  }

  void go_on(Context& c) {
    settle_account(core_, c);
    if (c.state == QpState::error) return;
    if (ready(c)) core_.schedule(c);
    requests_out_.note_drained(c);
  }

  Core<W>& core_;
  Completions<W>& completions_;
  Calls<W>& calls_;
  Acks<W> acks_{core_, completions_};
  ResponsesOut<W> responses_out_{core_, acks_};
  RequestsOut<W> requests_out_{core_, completions_, acks_};
  RequestsIn<W> requests_in_{core_, completions_, acks_, responses_out_, calls_};
  ResponsesIn<W> responses_in_{core_, completions_, requests_out_};
  SelectiveRepeat<W> recovery_{core_, completions_, requests_out_, responses_out_};
  Arrivals<W> arrivals_{core_, acks_};
};

}  // namespace weft::nic
