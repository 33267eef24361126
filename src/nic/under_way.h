// How many packets of an srnic connection are under way: requests, responses, and both.
#pragma once

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

}  // namespace weft::nic
