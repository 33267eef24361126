// What this side says of the way to a peer.
#pragma once

#include <cstdint>

#include "verbs/rdmacm/identifier.h"

namespace weft::rdmacm {

// 268 ms: twice what the device says a program that is not scheduled may take to answer.
inline constexpr std::uint8_t kAckTimeout = 16;
inline constexpr std::uint8_t kHopLimit = 64;

// -- with the agent's lock held; 0 or errno --
[[nodiscard]] int make_path_record(CmAgent& agent, Identifier& id);
[[nodiscard]] int resolve_route(CmAgent& agent, Identifier& id);
// Makes a fresh identifier that of a request which has come.
void describe_request(CmAgent& agent, Identifier& id, const cm::CmEvent& event);

}  // namespace weft::rdmacm
