// Responses to READs and atomics. They have sequence numbers of their own, are scheduled and window-controlled like
// WRITEs, and are acknowledged; what is asked twice is answered once. A saved response is given up when all of it has
// been acknowledged.
#pragma once

#include <algorithm>

#include "nic/completions.h"
#include "nic/rc/packets.h"
#include "nic/rc/peer_traffic.h"
#include "nic/schedule/turn_budget.h"
#include "nic/srnic/acks.h"
#include "nic/srnic/streams.h"

namespace weft::nic {

template <World W>
class ResponsesOut {
 public:
  ResponsesOut(Core<W>& core, Acks<W>& acks) : core_(core), acks_(acks) {}

  // Room for one more, behind all others; nullptr when the peer has more under way than it was promised. Who asks for
  // more than there is room for has had the oldest answer, even if its acknowledgement was lost.
  [[nodiscard]] SavedResponse* save(Context& c, wire::Sequence asked, std::uint32_t packets) {
    if (c.saved_size == 0) return nullptr;
    if (c.saved_pending == c.saved_size) {
      const SavedResponse& oldest = at(c, 0);
      const wire::Psn end = oldest.first.plus(oldest.packets);
      if (c.responses.out_next.ahead_of(end) < 0) return nullptr;
      acknowledged(c, end);
    }
    const wire::Psn first = end_of_all(c);
    SavedResponse& s = begin_saved(c, c.saved_next);
    c.saved_next = static_cast<std::uint8_t>((c.saved_next + 1) % c.saved_size);
    s.first = first;
    s.packets = packets;
    s.msn = asked.msn();
    ++c.saved_pending;
    core_.schedule(c);
    return &s;
  }

  [[nodiscard]] bool has_more(Context& c) const {
    return c.saved_pending > 0 && !c.responses_suspended && c.responses.out_next != end_of_all(c);
  }

  // New responses, oldest first.
  void turn(Context& c, TurnBudget& budget) {
    while (has_more(c) && !budget.spent() && budget.room > 0 && packets_before_response(c) < window_of(core_, c)) {
      const std::uint32_t room = std::min(window_of(core_, c) - packets_before_response(c), budget.room);
      SavedResponse* s = find(c, c.responses.out_next);
      const Burst burst = burst_of(c, *s, room, budget);
      const bool ends_turn = burst.packets >= room || budget.bytes <= std::int64_t{burst.packets} << c.mtu_shift;
      const bool asks = ends_turn && must_ask(core_, c);
      if (!send(c, *s, c.responses.out_next, {.asks = asks, .burst = burst}, budget)) return;
      budget.room -= burst.packets;
      if (core_.out.headers.bth.ack_request) {
        time_answer(core_, c, c.responses.out_next.plus(burst.packets - 1), true);
      }
      c.responses.out_next = c.responses.out_next.plus(burst.packets);
      c.responses_under_way = static_cast<std::uint16_t>(c.responses_under_way + burst.packets);
    }
  }

  // One that was lost, again. False: it is of no use any more.
  bool send_again(Context& c, wire::Psn psn, bool asks, TurnBudget& budget) {
    if (psn.ahead_of(responses_out(c).unacked) < 0 || psn.ahead_of(c.responses.out_next) >= 0) return true;
    SavedResponse* s = find(c, psn);
    if (s == nullptr) return true;
    core_.count(Counter::read_responses_resent);
    return send(c, *s, psn, {.asks = asks}, budget);
  }

  // Everything before `end` has arrived.
  void acknowledged(Context& c, wire::Psn end) {
    c.responses_under_way = static_cast<std::uint16_t>(c.responses.out_next.since(end));
    while (c.saved_pending > 0) {
      const SavedResponse& oldest = at(c, 0);
      if (end.since(oldest.first) < oldest.packets) break;
      --c.saved_pending;
    }
    if (c.saved_pending == 0 && c.responder_stopped) core_.queue_acknowledgement(c);
  }

  // Suspends responses that the peer does not take. The peer is gone, perhaps; our own requests will find out, if there
  // are any, and suspended responses are not in their way. The peer says how long it waits for responses, so they are
  // kept, and are sent once more when something is heard of the peer. But a refusal that waits for them must not wait
  // for ever.
  [[gnu::cold, gnu::noinline]] void suspend(Context& c) {
    core_.revoke_from(c);
    if (c.responder_stopped) {
      c.responses.out_next = end_of_all(c);
      return acknowledged(c, c.responses.out_next);
    }
    c.responses_suspended = true;
  }

 private:
  // The i-th oldest of those not acknowledged.
  [[nodiscard]] SavedResponse& at(const Context& c, std::uint32_t i) const {
    return read_saved(core_, c, (c.saved_next + c.saved_size - c.saved_pending + i) % c.saved_size);
  }
  [[nodiscard]] wire::Psn end_of_all(const Context& c) const {
    if (c.saved_pending == 0) return c.responses.out_next;
    const SavedResponse& newest = at(c, c.saved_pending - 1U);
    return newest.first.plus(newest.packets);
  }
  [[nodiscard]] SavedResponse* find(Context& c, wire::Psn psn) {
    for (std::uint32_t i = 0; i < c.saved_pending; ++i) {
      SavedResponse& s = at(c, i);
      if (psn.since(s.first) < s.packets) return &s;
    }
    return nullptr;
  }

  using Burst = typename Core<W>::Burst;
  [[nodiscard]] Burst burst_of(const Context& c, const SavedResponse& s, std::uint32_t room, const TurnBudget& budget) {
    if (s.atomic) return {};
    const std::uint32_t left = s.length - (c.responses.out_next.since(s.first) << c.mtu_shift);
    return core_.burst_of(c, {.bytes = left, .message = s.length, .room = room, .turn = budget.bytes});
  }

  struct Slice {
    bool asks = false;  // for an ACK in any case
    Burst burst{};
  };
  // One packet of a response, or a burst of them.
  bool send(Context& c, SavedResponse& s, wire::Psn psn, Slice some, TurnBudget& budget) {
    if (s.atomic) return send_original(c, s, psn, budget);
    const Burst burst = some.burst;
    const std::uint32_t packets = burst.packets;
    const std::uint32_t packet = psn.since(s.first);
    const std::uint64_t offset = std::uint64_t{packet} << c.mtu_shift;
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{packets} << c.mtu_shift, s.length - offset));
    std::byte* from = nullptr;
    if (bytes > 0) {
      const Refusal r = core_.translate(c, s.key, Rights::remote_read, s.address + offset, bytes, from);
      if (r != Refusal::none) return abandon(c, s, r);
      core_.world.read(BusRead::payload, from, bytes);
    }
    constexpr MessageOpcodes kOpcodes{wire::Opcode::srnic_read_response_first, wire::Opcode::srnic_read_response_middle,
                                      wire::Opcode::srnic_read_response_last, wire::Opcode::srnic_read_response_only};
    const bool ends = packet + packets == s.packets;
    wire::Headers& h = core_.start_packet(c, kOpcodes.at(packet == 0, ends), psn);
    h.sequence = wire::Sequence(s.msn, 0, packet);
    h.bth.ack_request = ends || some.asks || asks_for_srnic_ack(core_, c, psn, packets);
    const Fragment piece{from, bytes};
    core_.out.payload = {&piece, bytes > 0 ? 1U : 0U};
    core_.out.payload_bytes = bytes;
    core_.out.packets = packets;
    core_.out.one_copy = burst.one_copy;
    core_.send_packet();
    budget.bytes -= bytes;
    if (ends) --budget.works;
    return true;
  }
  bool send_original(Context& c, const SavedResponse& s, wire::Psn psn, TurnBudget& budget) {
    wire::Headers& h = core_.start_packet(c, wire::Opcode::srnic_atomic_response, psn);
    h.sequence = wire::Sequence(s.msn, 0, 0);
    h.bth.ack_request = true;
    h.atomic_ack.original = s.original;
    core_.send_packet();
    --budget.works;
    return true;
  }

  // Memory that could be read when the request came cannot be read now. The answers before it are still given.
  [[gnu::cold, gnu::noinline]] bool abandon(Context& c, SavedResponse& s, Refusal reason) {
    std::uint32_t before = 0;
    while (&at(c, before) != &s) ++before;
    const wire::Psn first = s.first;
    const std::uint32_t msn = s.msn;
    c.saved_next = static_cast<std::uint8_t>((c.saved_next + c.saved_size - (c.saved_pending - before)) % c.saved_size);
    c.saved_pending = static_cast<std::uint8_t>(before);
    const wire::Psn unacked = responses_out(c).unacked;
    c.responses.out_next = first;
    c.responses_under_way = unacked.ahead_of(first) < 0
                                ? static_cast<std::uint16_t>(c.responses.out_next.since(unacked))
                                : std::uint16_t{0};
    acks_.owe_refusal(c, wire::NakCode::remote_access, Status::remote_access, reason, wire::Sequence(msn, 0, 0));
    return false;
  }

  Core<W>& core_;
  Acks<W>& acks_;
};

}  // namespace weft::nic
