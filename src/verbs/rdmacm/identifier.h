// What stands behind an rdma_cm_id.
#pragma once

#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "cm/event.h"
#include "verbs/rdmacm/addresses.h"
#include "verbs/rdmacm/channel.h"

namespace weft::rdmacm {

class CmAgent;

class Identifier : public rdma_cm_id {
 public:
  Identifier(CmAgent& its_engine, EventChannel& channel, bool sync, void* context, rdma_port_space ps,
             ibv_qp_type qp_type);
  ~Identifier();
  Identifier(const Identifier&) = delete;
  Identifier& operator=(const Identifier&) = delete;

  [[nodiscard]] bool is_datagram() const { return qp_type == IBV_QPT_UD; }
  [[nodiscard]] EventChannel& its_channel() const { return channel_of(channel); }

  CmAgent& agent;
  bool sync;  // made without a channel: it has its own, and calls wait for their events

  // Where it is. `address` is the card's; the program may know it by another name (127.0.0.1) in route.addr.
  CmAddress source{}, destination{};
  wire::Address service_address{};  // what the port was taken for: zeros for all addresses
  bool bound = false, listening = false, resolved = false, routed = false;
  bool reuse_address = false;
  std::uint8_t traffic_class = 0;
  std::optional<std::uint8_t> ack_timeout;

  // Its connection.
  cm::ListenerId listener = 0;
  cm::Id connection = 0;
  cm::QpParameters peer{};
  cm::Path path{};
  wire::Psn starting_psn{};
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t retry_count = 7, rnr_retry_count = 7;
  bool knows_peer = false;     // a REQ or REP has come: `peer` and `path` are true
  bool connect_error = false;  // the response could not be used; what follows from that is not told

  // Events that the program has fetched and acknowledged.
  std::uint64_t fetched = 0, acknowledged = 0;

  ibv_ece local_ece{}, remote_ece{};
  std::optional<ibv_qp_init_attr> child_qp;  // for the queue pairs of what rdma_get_request returns
};

inline Identifier& identifier_of(rdma_cm_id* id) { return *static_cast<Identifier*>(id); }

// For identifiers without a channel of the program's: waits for the event that answers the call just made. The event
// stays in id->event. For the others it does nothing.
int complete(Identifier& id);

int create_identifier(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space ps,
                      ibv_qp_type qp_type);

}  // namespace weft::rdmacm
