// The shapes a network usually has.
#pragma once

#include "world/sim/network.h"

namespace weft::sim {

// Two hosts and a cable. Either direction has its own queue, faults and chance.
inline void connect_back_to_back(Network& network, HostIndex a, HostIndex b, const LinkSpec& spec) {
  network.add_uplink(a, {.is_host = true, .index = b}, spec);
  network.add_uplink(b, {.is_host = true, .index = a}, spec);
}

// Every host there is, around one switch. Faults happen on the way to the switch, so that a packet meets one injector
// and not two; a link from the switch gets its own by set_faults.
inline SwitchIndex connect_star(Network& network, const LinkSpec& spec) {
  const SwitchIndex center = network.add_switch();
  LinkSpec down = spec;
  down.faults = {};
  for (HostIndex host = 0; host < network.hosts(); ++host) {
    network.add_uplink(host, {.is_host = false, .index = center}, spec);
    network.add_port(center, {.is_host = true, .index = host}, down);
  }
  return center;
}

}  // namespace weft::sim
