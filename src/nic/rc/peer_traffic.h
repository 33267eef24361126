// How connections share what may be under way to their peer (nic/congestion/peers.h). A queue pair that has something
// to send and credit of its own, but whose peer's window is full, waits in line. When there is room the first in line
// gets a turn, and when that has ended the next: so all of them have turns in their order, and nobody overtakes those
// who wait.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/prefetch.h"
#include "nic/core.h"
#include "nic/ring_entry.h"
#include "nic/under_way.h"

namespace weft::nic {

inline constexpr std::uint32_t kAnyRoom = ~0U;

// What a connection has under way to its peer, in packets. In roce a READ counts its answer. What its receiver was not
// ready for has been dropped there; of one that has not been heard of for long, all may be gone, and without a timer
// nobody would know. If that counted, one connection that waits for ever would keep all others to this peer waiting.
// What was sent before a packet that has arrived is under way no more, whether it has arrived or was lost; what has
// been sent again since is.
[[nodiscard]] inline std::uint32_t packets_out(const Context& c) {
  if (c.state == QpState::error) return 0;
  if (c.dialect != Dialect::srnic) return c.ack_timeout == 0 ? 0 : c.next_psn.since(c.unacked_psn);
  if (c.unheard) return 0;
  const std::uint32_t out = packets_before_response(c);
  return c.requests_lost || c.responses_lost ? out - packets_passed(c) + packets_again(c) : out;
}

// Is there a window to share? Without a target for answer times there is none.
template <World W>
[[nodiscard]] bool shares_window(const Core<W>& core, const Context& c) {
  return core.state.config.target_delay != 0 && c.peer_slot != kNoPeer;
}

// How many packets may leave now, as far as the peer is concerned. If that has fallen silent everybody sends one, to
// find out for itself; and so does a connection that has not been heard of.
template <World W>
[[nodiscard]] std::uint32_t peer_room(const Core<W>& core, const Context& c) {
  if (!shares_window(core, c)) return kAnyRoom;
  const Peer& p = core.state.peers[c.peer_slot];
  if (p.silent || c.unheard) [[unlikely]]
    return packets_under_way(c) == 0 ? 1 : 0;
  const std::uint32_t out = packets_out(c);
  if (p.first != kNone && !c.woken) return 0;
  const std::uint32_t used = p.under_way - c.counted + out;
  return used < p.window.packets() ? p.window.packets() - used : 0;
}

// Does what is sent again wait for room as well? Not if nobody hears it: then it is sent to find out, and is little.
template <World W>
[[nodiscard]] bool limits_retries(const Core<W>& core, const Context& c) {
  return shares_window(core, c) && !c.unheard && !core.state.peers[c.peer_slot].silent;
}

// The peer's window is full, or soon will be. Whoever waits then must have asked for an acknowledgement: what it has
// under way takes others' room, and nobody would ever tell that it has arrived. For the last packet of a turn.
template <World W>
[[nodiscard]] bool must_ask(const Core<W>& core, const Context& c) {
  if (!shares_window(core, c)) return false;
  const Peer& p = core.state.peers[c.peer_slot];
  return c.unheard || p.first != kNone || (p.under_way - c.counted + packets_out(c)) * 2 >= p.window.packets();
}

// May a connection that has something to send have a turn? If not it waits in line, and gets one when it may.
template <World W>
[[nodiscard]] bool may_go_or_waits(Core<W>& core, Context& c) {
  if (c.waits) return false;
  if (peer_room(core, c) > 0) return true;
  Peer& p = core.state.peers[c.peer_slot];
  if (p.silent || c.unheard) return false;  // its own timer knows
  p.window.note_full();
  c.waits = true;
  if (c.woken) {  // somebody had the room before it
    c.woken = p.has_woken = false;
    core.state.peers.push_front(p, core.slot(c));
  } else {
    core.state.peers.push(p, core.slot(c));
  }
  return false;
}

// Whoever waits was not used for long. What the turns of the next two will need is fetched while this one has its turn.
template <World W>
void fetch_waiting(Core<W>& core, const Peer& p) {
  if (p.first == kNone) return;
  const Context& next = core.state.contexts[p.first];
  if (next.sq != nullptr) prefetch(ring_entry(next.sq, next.sq_next, next.sq_shift, next.sq_stride));
  const std::uint32_t slot = core.state.peers.behind(p, p.first);
  if (slot == kNone) return;
  const Context& after = core.state.contexts[slot];
  prefetch(&after);
  prefetch(&after.sq);
}

template <World W>
void wake(Core<W>& core, Peer& p) {
  Context& c = core.state.contexts[core.state.peers.pop(p)];
  fetch_waiting(core, p);
  c.waits = false;
  c.woken = p.has_woken = true;
  core.schedule(c);
}

// The first in line gets a turn, if there is room.
template <World W>
void wake_next(Core<W>& core, Peer& p) {
  if (p.first == kNone || p.has_woken || p.under_way >= p.window.packets()) [[likely]]
    return;
  wake(core, p);
}

// What the connection has under way has changed, or its turn has ended.
template <World W>
void settle_account(Core<W>& core, Context& c, bool turn_ended = false) {
  if (!shares_window(core, c)) return;
  const auto out = static_cast<std::uint16_t>(std::min(packets_out(c), 0xFFFFU));
  Peer& p = core.state.peers[c.peer_slot];
  if (turn_ended && c.woken) c.woken = p.has_woken = false;
  p.under_way += out - c.counted;
  c.counted = out;
  wake_next(core, p);
}

// -- time

// A packet that asks for an answer has left, for the first time.
template <World W>
void time_answer(Core<W>& core, const Context& c, wire::Psn psn, bool response = false) {
  if (c.peer_slot == kNoPeer) return;
  Peer& p = core.state.peers[c.peer_slot];
  if (p.timed_qpn.raw() != 0) [[likely]]
    return;
  p.timed_qpn = c.qpn;
  p.timed_psn = psn;
  p.timed_response = response;
  p.timed_at = core.now();
}
// Everything before `unacked` has been answered.
template <World W>
void on_answer(Core<W>& core, const Context& c, wire::Psn unacked, bool response = false) {
  if (c.peer_slot == kNoPeer) return;
  Peer& p = core.state.peers[c.peer_slot];
  p.silent = false;
  if (p.timed_qpn != c.qpn || p.timed_response != response || unacked.ahead_of(p.timed_psn) <= 0) return;
  p.timed_qpn = wire::Qpn{};
  const Time now = core.now(), took = std::max<Time>(now - p.timed_at, 1);
  const CardConfig& config = core.state.config;
  p.answer_time.add(took, config.nanosecond);
  if (config.target_delay != 0) p.window.on_answer(took, config.target_delay, now, config.nanosecond);
}
[[nodiscard]] inline bool peer_is_silent(const auto& core, const Context& c) {
  return c.peer_slot != kNoPeer && core.state.peers[c.peer_slot].silent;
}
// Something of this connection is sent again: whose answer comes then cannot be told (Karn).
template <World W>
void stop_timing(Core<W>& core, const Context& c) {
  if (c.peer_slot == kNoPeer) return;
  Peer& p = core.state.peers[c.peer_slot];
  if (p.timed_qpn == c.qpn) p.timed_qpn = wire::Qpn{};
}

// -- loss

// srnic: `run` packets that end with `psn` have arrived, and others before them have not. That answers what was sent
// before. As many as have left the way may be sent again.
template <World W>
void note_passed(Core<W>& core, Context& c, wire::Psn psn, std::uint32_t run, bool response) {
  if (!shares_window(core, c)) return;
  on_answer(core, c, psn.plus(1), response);
  const std::uint32_t before = packets_passed(c);
  pass(c, psn.plus(1), response);
  const std::uint32_t after = packets_passed(c);
  earn_retries(c, after > before ? after - before : run);
}
// srnic: of what was lost, this is sent again. Only its own answer cannot be told then: packets behind it say when
// they arrived, and where packets are lost all the time nothing would ever be timed otherwise.
template <World W>
void note_resent(Core<W>& core, const Context& c, const RetryEntry& e) {
  if (!shares_window(core, c)) return stop_timing(core, c);
  Peer& p = core.state.peers[c.peer_slot];
  const bool response = e.stream == Stream::responses_out;
  if (p.timed_response == response && p.timed_psn.ahead_of(e.psn) >= 0 && p.timed_psn.ahead_of(e.psn) < e.count) {
    stop_timing(core, c);
  }
}
template <World W>
void note_lost(Core<W>& core, const Context& c) {
  core.state.peers[c.peer_slot].window.note_lost();
}
// roce: a packet was lost, and all behind it will be sent again. Nothing times that.
template <World W>
[[gnu::cold, gnu::noinline]] void note_gap(Core<W>& core, const Context& c) {
  if (!shares_window(core, c)) return;
  core.state.peers[c.peer_slot].window.on_gap();
}

// A local ACK timeout has passed without a word. Nobody waits for the others any more.
template <World W>
[[gnu::cold, gnu::noinline]] void note_silence(Core<W>& core, const Context& c) {
  if (!shares_window(core, c)) return;
  Peer& p = core.state.peers[c.peer_slot];
  if (!p.silent) p.window.on_silence();
  p.silent = true;
  while (p.first != kNone) wake(core, p);
}

}  // namespace weft::nic
