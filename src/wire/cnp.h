// The congestion notification packet (RoCEv2 annex A17): a BTH that says BECN and 16 reserved bytes.
#pragma once

#include "wire/packet.h"

namespace weft::wire {

// To the queue pair whose packets arrived marked. Carries no sequence number of its own.
constexpr Headers make_cnp(Qpn destination, Pkey pkey = kDefaultPkey) {
  return {.bth = {.opcode = Opcode::cnp, .becn = true, .pkey = pkey, .destination = destination}};
}

}  // namespace weft::wire
