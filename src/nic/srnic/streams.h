// A connection that speaks srnic has four streams of sequence numbers: requests and responses, each way. What a stream
// that comes in knows is its expected PSN and one run of packets ahead of it; what one that goes out knows is what is
// next and what is unacknowledged. Nothing here grows with the window.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/card_state.h"
#include "nic/context.h"
#include "nic/core.h"
#include "nic/host_memory.h"
#include "nic/under_way.h"

namespace weft::nic {

// -- in -------------------------------------------------------------------------------------------------

struct Inflow {
  wire::Psn& expected;
  SrnicInbound& in;
  Stream stream;
  [[nodiscard]] bool recovering() const { return in.run != 0; }
  [[nodiscard]] wire::Psn run_start() const { return in.run_end.minus(in.run); }
};

inline Inflow requests_in(Context& c) { return {c.expected_psn, c.srnic.in, Stream::requests_in}; }
inline Inflow responses_in(Context& c) { return {c.responses.in_expected, c.responses.in, Stream::responses_in}; }

enum class Arrival : std::uint8_t { in_order, out_of_order, duplicate, too_far };

// During recovery even the expected packet is out of order: the software says when its turn has come.
inline Arrival arrival_of(const Inflow& f, wire::Psn psn) {
  const std::int32_t ahead = psn.ahead_of(f.expected);
  if (ahead == 0 && !f.recovering()) return Arrival::in_order;
  if (ahead < 0) return Arrival::duplicate;
  return ahead < static_cast<std::int32_t>(kMaxWindow) ? Arrival::out_of_order : Arrival::too_far;
}

// What became of a packet that came ahead of its turn, or during recovery.
enum class OutOfOrder : std::uint8_t {
  dropped,   // it is as if it had been lost
  placed,    // and its end, if it is one, is remembered
  finished,  // it was the oldest of all, so its turn had come, and there was no room to remember it
};

enum class Growth : std::uint8_t { begins, extends, fills, repeats };

// The range of the most advanced packets without a gap between them, after `psn` has come.
inline Growth grow_run(const Inflow& f, wire::Psn psn) {
  SrnicInbound& in = f.in;
  const std::int32_t beyond = psn.ahead_of(in.run_end);
  if (in.run == 0 || beyond > 0) {
    in.run_end = psn.plus(1);
    in.run = 1;
    return Growth::begins;
  }
  if (beyond == 0) {
    in.run_end = psn.plus(1);
    ++in.run;
    return Growth::extends;
  }
  if (psn.ahead_of(f.run_start()) >= 0) return Growth::repeats;
  if (psn.plus(1) == f.run_start()) ++in.run;
  return Growth::fills;
}

// -- out ------------------------------------------------------------------------------------------------

// Between them lies what is under way.
struct Outflow {
  wire::Psn unacked, next;
};

inline Outflow requests_out(const Context& c) { return {c.unacked_psn, c.next_psn}; }
inline Outflow responses_out(const Context& c) {
  return {c.responses.out_next.minus(c.responses_under_way), c.responses.out_next};
}
inline Outflow outflow(const Context& c, Stream s) {
  return s == Stream::requests_out ? requests_out(c) : responses_out(c);
}

// How much may be under way.
template <World W>
[[nodiscard]] std::uint32_t window_of(const Core<W>& core, const Context& c) {
  const CardConfig& config = core.state.config;
  return with_congestion(config.congestion, [&](auto cc) { return cc.window(c, srnic_window(config)); });
}
// Every so many packets, and often enough that a window never fills without. Of a burst: if one of its packets would.
template <World W>
[[nodiscard]] bool asks_for_srnic_ack(const Core<W>& core, const Context& c, wire::Psn psn, std::uint32_t packets) {
  const std::uint32_t most = std::max(window_of(core, c) / 2, 1U);
  const std::uint32_t every = std::min<std::uint32_t>(core.state.config.acknowledge_every, most);
  const std::uint32_t since = psn.raw() % every;
  return since == 0 || since + packets > every;
}

// -- work -----------------------------------------------------------------------------------------------

// How many PSNs a work entry takes. A READ asks with one packet; its answer has PSNs of its own.
inline std::uint32_t request_packets(const Work& w, std::uint8_t mtu_shift) {
  if (is_local(w.kind)) return 0;
  return reads_back(w.kind) ? 1 : packets_of(w.length, mtu_shift);
}

inline bool uses_receive(WorkKind k) {
  using enum WorkKind;
  return is_one_of(kinds_of(send, send_immediate, send_invalidate, write_immediate, reply_immediate), k);
}

// Where a request of this PSN stands, found from the oldest work on. `psn` is not behind done_psn. read(entry) is the
// work entry: card and host software have ways of their own to it.
struct WorkPosition {
  std::uint32_t entry = 0, offset = 0;
};
template <class Read>
[[nodiscard]] WorkPosition locate_request(const Context& c, wire::Psn psn, Read&& read) {
  WorkPosition at{c.sq_done, psn.since(c.done_psn)};
  while (at.entry != c.sq_next) {
    const std::uint32_t packets = request_packets(read(at.entry), c.mtu_shift);
    if (at.offset < packets) break;
    at.offset -= packets;
    ++at.entry;
  }
  return at;
}

// The card's way.
template <World W>
[[nodiscard]] WorkPosition locate_request(Core<W>& core, const Context& c, wire::Psn psn) {
  return locate_request(c, psn,
                        [&](std::uint32_t entry) -> const Work& { return read_work_under_way(core, c, entry); });
}

// -- beginning ------------------------------------------------------------------------------------------

// Switches may mark its packets instead of dropping them.
inline void mark_capable(Context& c, const CardConfig& config) {
  constexpr std::uint8_t kEcnMask = 3, kEcnCapable = 2;
  if (!wants_marks(config.congestion)) return;
  c.marks.traffic_class = static_cast<std::uint8_t>((c.marks.traffic_class & ~kEcnMask) | kEcnCapable);
}

// From now on the connection speaks this dialect. Nothing has been sent or received in any other, or it does not count:
// what was sent is sent again. Responses to requests that begin at PSN p begin at p as well.
inline void begin_dialect(Context& c, Dialect dialect, const CardConfig& config) {
  c.dialect = dialect;
  c.sq_next = c.sq_done;
  c.next_offset = 0;
  c.next_psn = c.unacked_psn = c.done_psn;
  c.reads_under_way = 0;
  c.head_waits = false;
  c.silences = 0;
  c.requests_awaited = c.responses_awaited = c.long_read = c.responses_suspended = false;
  c.unheard = c.sent_since = c.assured = c.window_cut = false;
  if (dialect != Dialect::srnic) {
    c.roce = RoceInbound{};
    c.sent_psn = c.next_psn;
    return;
  }
  c.srnic = SrnicRequests{};
  c.responses = SrnicResponses{};
  c.responses.out_next = c.expected_psn;
  c.responses_under_way = 0;
  c.responses.in_expected = c.next_psn;
  c.next_ssn = 0;
  with_congestion(config.congestion, [&](auto cc) { cc.start(c, srnic_window(config)); });
  mark_capable(c, config);
}

}  // namespace weft::nic
