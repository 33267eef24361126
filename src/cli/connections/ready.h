// Brings a reliable queue pair from RESET to RTS. Timeout, retries and the like are perftest's, unless said otherwise.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "cli/connections/failing.h"

namespace weft::connections {

struct PeerAddress {
  ibv_gid gid;
  std::uint32_t qpn, psn;
};

inline constexpr std::uint8_t kAckTimeout = 14;  // 67 ms

inline void make_ready(ibv_qp* qp, const PeerAddress& peer, ibv_mtu mtu, int access,
                       std::uint8_t ack_timeout = kAckTimeout) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = static_cast<unsigned>(access);
  must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "to INIT");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = mtu;
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.psn;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = 12;
  a.ah_attr.is_global = 1;
  a.ah_attr.grh.dgid = peer.gid;
  a.ah_attr.grh.hop_limit = 64;
  a.ah_attr.port_num = 1;
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
       "to RTR");
  a.qp_state = IBV_QPS_RTS;
  a.timeout = ack_timeout;
  a.retry_cnt = 7;
  a.rnr_retry = 7;
  a.sq_psn = peer.psn;
  a.max_rd_atomic = 1;
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC),
       "to RTS");
}

}  // namespace weft::connections
