// The few verbs objects that the stress program juggles, each freed by its owner. What must succeed and does not ends
// the program with a sentence: a stress test that goes on after that tests nothing.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <infiniband/verbs.h>

namespace stress {

[[noreturn]] inline void die(const char* what, int code) {
  std::fprintf(stderr, "stress: %s: %s (%d)\n", what, std::strerror(code), code);
  std::exit(1);
}
template <class T>
T* must(T* object, const char* what) {
  if (object == nullptr) die(what, errno);
  return object;
}
inline void must(int code, const char* what) {
  if (code != 0) die(what, code);
}

struct Free {
  void operator()(ibv_qp* o) const { must(ibv_destroy_qp(o), "ibv_destroy_qp"); }
  void operator()(ibv_cq* o) const { must(ibv_destroy_cq(o), "ibv_destroy_cq"); }
  void operator()(ibv_mr* o) const { must(ibv_dereg_mr(o), "ibv_dereg_mr"); }
  void operator()(ibv_pd* o) const { must(ibv_dealloc_pd(o), "ibv_dealloc_pd"); }
  void operator()(ibv_context* o) const { must(ibv_close_device(o), "ibv_close_device"); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

inline constexpr int kAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

inline Owned<ibv_context> open_device() {
  ibv_device** list = must(ibv_get_device_list(nullptr), "ibv_get_device_list");
  if (list[0] == nullptr) die("no device", ENODEV);
  Owned<ibv_context> context(must(ibv_open_device(list[0]), "ibv_open_device"));
  ibv_free_device_list(list);
  return context;
}

// How two queue pairs find each other, and what may be written to where.
struct Address {
  std::uint32_t qpn = 0, psn = 0, rkey = 0;
  std::uint64_t memory = 0;
  ibv_gid gid{};
};

inline Owned<ibv_qp> make_qp(ibv_pd* pd, ibv_cq* cq, std::uint32_t depth) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.qp_type = IBV_QPT_RC;
  init.cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64};
  return Owned<ibv_qp>(must(ibv_create_qp(pd, &init), "ibv_create_qp"));
}

// Gives up on a silent peer after about half a second, unless `timeout` (4.096 us * 2^timeout, eight times) says more.
inline void connect(ibv_qp* qp, std::uint32_t psn, const Address& peer, std::uint8_t timeout = 14) {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = kAccess;
  must(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "to INIT");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.psn;
  a.max_dest_rd_atomic = 4;
  a.min_rnr_timer = 1;
  a.ah_attr.is_global = 1;
  a.ah_attr.grh = {.dgid = peer.gid, .flow_label = 0, .sgid_index = 0, .hop_limit = 64, .traffic_class = 0};
  a.ah_attr.port_num = 1;
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
       "to RTR");
  a.qp_state = IBV_QPS_RTS;
  a.timeout = timeout;
  a.retry_cnt = 7;
  a.rnr_retry = 7;
  a.sq_psn = psn;
  a.max_rd_atomic = 4;
  must(ibv_modify_qp(qp, &a,
                     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                         IBV_QP_MAX_QP_RD_ATOMIC),
       "to RTS");
}

}  // namespace stress
