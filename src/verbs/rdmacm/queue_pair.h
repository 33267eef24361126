// Queue pairs of identifiers, and the states through which a connection brings them.
#pragma once

#include <infiniband/verbs.h>

#include "verbs/rdmacm/identifier.h"

namespace weft::rdmacm {

// Attributes for the state that `attributes.qp_state` names, as Linux's connection manager computes them. 0 or errno.
[[nodiscard]] int attributes_for(Identifier& id, ibv_qp_attr& attributes, int& mask);

// These return 0 or errno, and do nothing for identifiers without a queue pair.
[[nodiscard]] int to_ready(Identifier& id, std::uint8_t responder_resources, std::uint8_t initiator_depth);
int to_error(Identifier& id);
// Fresh from ibv_create_qp: datagrams can flow at once, connections wait for their peer.
[[nodiscard]] int to_first_state(Identifier& id, ibv_qp* qp);

// Completion queues that the program did not bring; -1 and errno.
[[nodiscard]] int create_queues(rdma_cm_id& id, std::uint32_t send_entries, std::uint32_t receive_entries);
void destroy_queues(rdma_cm_id& id);

// An address handle's description of the way to the peer.
[[nodiscard]] ibv_ah_attr way_to_peer(const Identifier& id);

}  // namespace weft::rdmacm
