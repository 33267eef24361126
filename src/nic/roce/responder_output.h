// What a reliable responder owes its peer: responses to READs and atomics, in order of PSN, and after them one
// acknowledgement or NAK. Later acknowledgements replace earlier ones that have not left yet.
#pragma once

#include <algorithm>

#include "base/canary.h"
#include "nic/completions.h"
#include "nic/rc/packets.h"
#include "nic/schedule/turn_budget.h"
#include "wire/syndrome.h"

namespace weft::nic {

template <World W>
class ResponderOutput {
 public:
  ResponderOutput(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  void owe(Context& c, wire::Syndrome syndrome, wire::Psn psn) {
    c.owed_syndrome = syndrome.encode();
    c.roce.owed_psn = psn;
    c.owes_ack = true;
    core_.queue_acknowledgement(c);
  }
  // For a duplicate: the peer learns again how far we are, unless a NAK is about to tell it more.
  void owe_again(Context& c) {
    if (!c.owes_ack) owe(c, wire::Syndrome::ack(), c.expected_psn.minus(1));
  }
  // The request at expected_psn cannot be carried out. What was owed before goes first, then the NAK, then
  // the queue pair breaks.
  [[gnu::cold, gnu::noinline]] void owe_refusal(Context& c, wire::NakCode code, Status status, Refusal reason) {
    core_.refuse(reason);
    if (c.broken_by == Refusal::none) c.broken_by = reason;
    c.responder_stopped = true;
    c.break_status = status;
    owe(c, wire::Syndrome::nak(code), c.expected_psn);
  }

  // Room for one more READ or atomic, overwriting the oldest that has been answered; nullptr when the peer has
  // more under way than it was promised.
  [[nodiscard]] SavedResponse* save(Context& c) {
    if (c.saved_size == 0) return nullptr;
    SavedResponse& s = read_saved(core_, c, c.saved_next);
    if (s.pending && !s.answered) return nullptr;
    if (s.pending) finish(c, s);  // was being answered again, but who asks for more has had the answer
    c.saved_next = static_cast<std::uint8_t>((c.saved_next + 1) % c.saved_size);
    s = SavedResponse{};
    s.valid = true;
    return &s;
  }
  // The READ or atomic that a duplicate request repeats, if it is still remembered.
  [[nodiscard]] SavedResponse* find(Context& c, wire::Psn psn) {
    for (std::uint32_t age = 1; age <= c.saved_size; ++age) {  // newest first: PSNs come round again
      SavedResponse& s = read_saved(core_, c, (c.saved_next + c.saved_size - age) % c.saved_size);
      if (s.valid && psn.since(s.first) < s.packets) return &s;
    }
    return nullptr;
  }
  void respond(Context& c, SavedResponse& s, wire::Psn from) {
    if (!s.pending) ++c.saved_pending;
    s.pending = true;
    s.next = s.restart = canary(Canary::answer_from_the_start) ? s.first : from;
    write_saved(core_, s);
    core_.schedule(c);
  }

  // Sends responses while the budget lasts, oldest first, and then what is owed.
  void turn(Context& c, TurnBudget& budget) {
    while (c.saved_pending > 0 && !budget.spent()) {
      SavedResponse& s = oldest_pending(c);
      if (!s.atomic) {
        if (!send_read_responses(c, s, budget)) return;
      } else {
        wire::Headers& h = core_.start_packet(c, wire::Opcode::rc_atomic_ack, s.first);
        h.aeth = {wire::Syndrome::ack().encode(), c.roce.msn};
        h.atomic_ack.original = s.original;
        core_.send_packet();
        finish(c, s);
      }
      --budget.works;
    }
    acknowledge(c);
  }

  // Sends the acknowledgement or NAK that is owed, unless responses must go before it. What a queue pair owed when its
  // completion queue overflowed is never sent: nobody has heard of the message.
  void acknowledge(Context& c) {
    if (!c.owes_ack || c.saved_pending > 0 || c.state == QpState::error) return;
    c.owes_ack = false;
    wire::Headers& h = core_.start_packet(c, wire::Opcode::rc_ack, c.roce.owed_psn);
    h.aeth = {c.owed_syndrome, c.roce.msn};
    core_.send_packet();
    core_.count(Counter::acks_sent);
    if (c.responder_stopped) stop(c);
  }

 private:
  SavedResponse& oldest_pending(Context& c) {
    for (std::uint32_t i = 0; i < c.saved_size; ++i) {
      SavedResponse& s = read_saved(core_, c, (c.saved_next + i) % c.saved_size);
      if (s.pending) return s;
    }
    __builtin_unreachable();  // saved_pending counts them
  }
  void finish(Context& c, SavedResponse& s) {
    s.pending = false;
    s.answered = true;
    write_saved(core_, s);
    --c.saved_pending;
  }

  // Of a response: one, or as many as the world takes apart by itself.
  [[nodiscard]] std::uint32_t packets_at_once(const Context& c, const SavedResponse& s, std::uint64_t left,
                                              const TurnBudget& budget) {
    if (left <= path_mtu(c)) return 1;
    const auto bytes = static_cast<std::uint32_t>(left);
    return core_.burst_of(c, {.bytes = bytes, .message = s.length, .room = s.packets, .turn = budget.bytes}).packets;
  }

  // False when memory that could be read when the request came cannot be read now.
  bool send_read_responses(Context& c, SavedResponse& s, TurnBudget& budget) {
    const wire::Psn end = s.first.plus(s.packets);
    while (s.next != end && budget.bytes > 0) {
      const std::uint64_t offset = std::uint64_t{s.next.since(s.first)} << c.mtu_shift;
      const std::uint64_t left = s.length - offset;
      const std::uint32_t packets = packets_at_once(c, s, left, budget);
      const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(packets << c.mtu_shift, left));
      std::byte* at = nullptr;
      if (bytes > 0) {
        const Refusal r = core_.translate(c, s.key, Rights::remote_read, s.address + offset, bytes, at);
        if (r != Refusal::none) {
          abandon(c, s, r);
          return false;
        }
        core_.world.read(BusRead::payload, at, bytes);
      }
      const bool starts = s.next == s.restart, ends = s.next.plus(packets) == end;
      constexpr MessageOpcodes kOpcodes{wire::Opcode::rc_read_response_first, wire::Opcode::rc_read_response_middle,
                                        wire::Opcode::rc_read_response_last, wire::Opcode::rc_read_response_only};
      wire::Headers& h = core_.start_packet(c, kOpcodes.at(starts, ends), s.next);
      h.aeth = {wire::Syndrome::ack().encode(), c.roce.msn};
      const Fragment piece{at, bytes};
      core_.out.payload = {&piece, bytes > 0 ? 1U : 0U};
      core_.out.payload_bytes = bytes;
      core_.out.packets = packets;
      core_.send_packet();
      budget.bytes -= bytes;
      s.next = s.next.plus(packets);
    }
    s.next == end ? finish(c, s) : write_saved(core_, s);
    return true;
  }

  [[gnu::cold, gnu::noinline]] void abandon(Context& c, SavedResponse& s, Refusal reason) {
    core_.refuse(reason);
    if (c.broken_by == Refusal::none) c.broken_by = reason;
    const wire::Psn at = s.next;
    for (std::uint32_t i = 0; i < c.saved_size; ++i) {
      SavedResponse& other = read_saved(core_, c, i);
      other.pending = false;
      write_saved(core_, other);
    }
    c.saved_pending = 0;
    c.responder_stopped = true;
    c.break_status = Status::remote_access;
    owe(c, wire::Syndrome::nak(wire::NakCode::remote_access), at);
    acknowledge(c);
  }

  [[gnu::cold, gnu::noinline]] void stop(Context& c) {
    const bool access = c.break_status == Status::remote_access;
    if (c.receive_entry != kNone) {
      completions_.finish_receive(c, {.status = c.break_status, .reason = c.broken_by, .bytes = c.roce.received_bytes});
    }
    core_.world.notify({access ? EventKind::qp_access_error : EventKind::qp_request_error, c.qpn.raw()});
    completions_.break_off(c);
  }

  Core<W>& core_;
  Completions<W>& completions_;
};

}  // namespace weft::nic
