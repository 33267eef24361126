// Which role of StaR a lane takes for a connection whose settings say nothing of it. Pure: what both sides are, and how
// many connections each has, go in.
//
// The side with the most connections gains by keeping no state for them, and its peers, with few each, can keep it.
// Only the side that becomes stateless judges by counts; it offers the state to its peer, and that follows. So counts
// that have changed meanwhile cannot have the two sides disagree.
#pragma once

#include <cstdint>

#include "host/star/role.h"
#include "wire/vendor_mad.h"

namespace weft::real {

struct Load {
  std::uint32_t own = 0, peers = 0;  // reliable connections
  std::uint32_t beyond = 0;          // so many the lane keeps state for, whoever its peers are; 0: for all
};

// So many times as many as the peer: two that have about as many as each other stay as they are.
inline constexpr std::uint32_t kBusierBy = 2;

[[nodiscard]] constexpr bool is_much_busier(const Load& l) {
  return l.beyond != 0 && l.own > l.beyond && l.own / kBusierBy >= l.peers;
}

[[nodiscard]] constexpr host::StarRole choose_role(wire::StarRoles own, wire::StarRoles peers, const Load& load) {
  using Roles = wire::StarRoles;
  if (own.has(Roles::kFollows) && peers.asks_for_stateful()) return host::StarRole::stateful;
  if (!own.has(Roles::kChooses)) return host::StarRole::none;
  if (peers.asks_for_stateless()) return host::StarRole::stateless;
  return peers.has(Roles::kChooses) && is_much_busier(load) ? host::StarRole::stateless : host::StarRole::none;
}

}  // namespace weft::real
