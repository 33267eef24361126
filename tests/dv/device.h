// What the C programs here have in common: a device of Weft's, queue pairs on it, and connecting them.
#pragma once

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weft/dv.h"

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static uint32_t inline_bytes;  // of queue pairs that are made

static inline void require(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "failed: %s (%s)\n", what, strerror(errno));
  exit(1);
}

static inline void open_device(void) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  require(list != NULL && list[0] != NULL, "there is a device");
  require(weftdv_is_supported(list[0]), "it is Weft's");
  context = ibv_open_device(list[0]);
  require(context != NULL, "it opens");
  ibv_free_device_list(list);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  require(pd != NULL && cq != NULL, "there is a domain and a completion queue");
}

static inline struct ibv_qp* make(enum ibv_qp_type type, struct ibv_srq* srq, struct weftdv_qp_init_attr* weft) {
  struct ibv_qp_init_attr_ex attr;
  memset(&attr, 0, sizeof attr);
  attr.qp_type = type;
  attr.send_cq = attr.recv_cq = cq;
  attr.srq = srq;
  attr.cap.max_send_wr = attr.cap.max_recv_wr = 4;
  attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
  attr.cap.max_inline_data = inline_bytes;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = pd;
  return weftdv_create_qp(context, &attr, weft);
}

static inline void connect_at(struct ibv_qp* qp, const union ibv_gid* gid, uint32_t peer) {
  struct ibv_qp_attr a;
  memset(&a, 0, sizeof a);
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  require(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0, "INIT");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = peer;
  a.max_dest_rd_atomic = 1;
  a.min_rnr_timer = 12;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.hop_limit = 64;
  a.ah_attr.grh.dgid = *gid;
  require(ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "RTR");
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 14;
  a.retry_cnt = a.rnr_retry = 7;
  a.max_rd_atomic = 1;
  require(ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "RTS");
}

static inline void connect_to(struct ibv_qp* qp, uint32_t peer) {
  union ibv_gid own;
  require(ibv_query_gid(context, 1, 0, &own) == 0, "there is a GID");
  connect_at(qp, &own, peer);
}

// The next completion, whatever it says.
static inline struct ibv_wc next_completion(void) {
  const time_t until = time(NULL) + 60;
  struct ibv_wc wc;
  for (;;) {
    const int n = ibv_poll_cq(cq, 1, &wc);
    require(n >= 0 && time(NULL) < until, "completions come");
    if (n == 1) return wc;
  }
}

static inline struct ibv_wc next_success(void) {
  const struct ibv_wc wc = next_completion();
  if (wc.status != IBV_WC_SUCCESS) fprintf(stderr, "%s\n", ibv_wc_status_str(wc.status));
  require(wc.status == IBV_WC_SUCCESS, "it is a good one");
  return wc;
}
