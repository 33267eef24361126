// How many packets of an srnic connection are under way: requests, responses, and both.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/context.h"

namespace weft::nic {

inline std::uint32_t requests_under_way(const Context& c) { return c.next_psn.since(c.unacked_psn); }
// Suspended responses, which the peer does not take, are not under way (ResponsesOut::suspend).
inline std::uint32_t answers_under_way(const Context& c) { return c.responses_suspended ? 0 : c.responses_under_way; }
// Requests and responses share the congestion window: they take the same way.
inline std::uint32_t packets_under_way(const Context& c) { return requests_under_way(c) + answers_under_way(c); }
// What is in the way of a response. Requests whose receiver is not ready are on their way to nowhere: it may be waiting
// for just this response before it gets ready.
inline std::uint32_t packets_before_response(const Context& c) {
  return c.rnr_wait ? answers_under_way(c) : packets_under_way(c);
}

// Of a recovery: that have been sent again, and may still be under way.
inline std::uint32_t packets_again(const Context& c) { return std::uint32_t{kMostRetryCredit} - c.retry_credit; }
inline void earn_retries(Context& c, std::uint32_t packets) {
  c.retry_credit = static_cast<std::uint8_t>(std::min<std::uint32_t>(c.retry_credit + packets, kMostRetryCredit));
}

// In recovery: of those, packets that were sent before one that has arrived. The newest news count: of requests, or of
// responses.
inline constexpr std::uint32_t kPassedMask = (1U << 15) - 1;  // more than any window
inline std::uint32_t packets_passed(const Context& c) {
  if (!c.passed_is_response && c.rnr_wait) return 0;
  const std::uint32_t under_way = c.passed_is_response ? answers_under_way(c) : requests_under_way(c);
  const wire::Psn next = c.passed_is_response ? c.responses.out_next : c.next_psn;
  const std::uint32_t since = (next.raw() - c.passed) & kPassedMask;  // sent since
  return since < under_way ? under_way - since : 0;
}
inline void begin_passing(Context& c, wire::Psn unacked, bool response) {
  c.passed = unacked.raw() & kPassedMask;
  c.passed_is_response = response;
}
// Everything before `end` was sent before something that has arrived.
inline void pass(Context& c, wire::Psn end, bool response) {
  const bool behind = c.passed_is_response == response && ((end.raw() - c.passed) & kPassedMask) > kPassedMask / 2;
  if (!behind) begin_passing(c, end, response);
}

}  // namespace weft::nic
