// The attributes of each state, and the way through the states.
#include <algorithm>
#include <iterator>

#include "verbs/rdmacm/cm_agent.h"
#include "verbs/rdmacm/errors.h"
#include "verbs/rdmacm/path.h"
#include "verbs/rdmacm/queue_pair.h"

namespace weft::rdmacm {
namespace {

std::uint8_t ack_timeout_of(const Identifier& id) {
  // What the caller of a connection said holds for both sides, unless this side's program knows better.
  return std::min<std::uint8_t>(id.ack_timeout.value_or(id.path.ack_timeout), 31);
}

int init_attributes(const Identifier& id, ibv_qp_attr& a) {
  a.pkey_index = 0;
  a.port_num = 1;
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (id.is_datagram()) {
    a.qkey = RDMA_UDP_QKEY;
    return mask | IBV_QP_QKEY;
  }
  a.qp_access_flags = 0;
  if (id.knows_peer) {
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (id.responder_resources != 0 && id.qp_type == IBV_QPT_RC) {
      a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    }
  }
  return mask | IBV_QP_ACCESS_FLAGS;
}

int receive_attributes(const Identifier& id, ibv_qp_attr& a) {
  a.ah_attr = way_to_peer(id);
  a.path_mtu = static_cast<ibv_mtu>(id.path.mtu);
  a.dest_qp_num = id.peer.qpn.raw();
  a.rq_psn = id.starting_psn.raw();
  const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (id.qp_type != IBV_QPT_RC) return mask;
  a.max_dest_rd_atomic = id.responder_resources;
  a.min_rnr_timer = 0;
  return mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

int send_attributes(const Identifier& id, ibv_qp_attr& a) {
  // IBA 12.7.31: each side is told by the other where to begin.
  a.sq_psn = id.peer.starting_psn.raw();
  const int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (id.qp_type != IBV_QPT_RC) return mask;
  a.timeout = ack_timeout_of(id);
  a.retry_cnt = id.retry_count;
  a.rnr_retry = id.rnr_retry_count;
  a.max_rd_atomic = id.initiator_depth;
  return mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

int go_to(Identifier& id, ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  if (const int code = attributes_for(id, attributes, mask); code != 0) return code;
  return ibv_modify_qp(qp, &attributes, mask);
}

}  // namespace

ibv_ah_attr way_to_peer(const Identifier& id) {
  ibv_ah_attr way{};
  std::copy(id.path.remote.bytes.begin(), id.path.remote.bytes.end(), std::begin(way.grh.dgid.raw));
  way.grh.sgid_index = static_cast<std::uint8_t>(id.agent.gid_index(id.path.local));
  way.grh.flow_label = id.path.flow_label;
  way.grh.hop_limit = kHopLimit;
  way.grh.traffic_class = id.path.traffic_class;
  way.is_global = 1;
  way.port_num = 1;
  return way;
}

int attributes_for(Identifier& id, ibv_qp_attr& attributes, int& mask) {
  if (id.verbs == nullptr) return EINVAL;
  switch (attributes.qp_state) {
    case IBV_QPS_INIT: mask = init_attributes(id, attributes); return 0;
    case IBV_QPS_RTR:
      if (id.is_datagram()) {
        mask = IBV_QP_STATE;
        return 0;
      }
      if (!id.knows_peer) return EINVAL;
      mask = receive_attributes(id, attributes);
      return 0;
    case IBV_QPS_RTS:
      if (id.is_datagram()) {
        attributes.sq_psn = 0;
        mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
        return 0;
      }
      if (!id.knows_peer) return EINVAL;
      mask = send_attributes(id, attributes);
      return 0;
    default: return EINVAL;
  }
}

int to_ready(Identifier& id, std::uint8_t responder_resources, std::uint8_t initiator_depth) {
  id.responder_resources = responder_resources;
  id.initiator_depth = initiator_depth;
  if (id.qp == nullptr) return 0;
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (const int code = go_to(id, id.qp, state); code != 0) return code;
  }
  return 0;
}

int to_error(Identifier& id) {
  if (id.qp == nullptr) return 0;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return ibv_modify_qp(id.qp, &attributes, IBV_QP_STATE);
}

int to_first_state(Identifier& id, ibv_qp* qp) {
  if (const int code = go_to(id, qp, IBV_QPS_INIT); code != 0 || !id.is_datagram()) return code;
  if (const int code = go_to(id, qp, IBV_QPS_RTR); code != 0) return code;
  return go_to(id, qp, IBV_QPS_RTS);
}

}  // namespace weft::rdmacm

using namespace weft::rdmacm;

extern "C" int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* qp_attr, int* qp_attr_mask) {
  Identifier& me = identifier_of(id);
  const AgentHold hold(me.agent);
  if (!hold) return fail(EIO);
  return minus_one_if(attributes_for(me, *qp_attr, *qp_attr_mask));
}
