#include "common/card.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "common/tcp.h"

namespace examples {
namespace {

void require(bool holds, const char* what) {
  if (!holds) give_up(std::string("cannot ") + what + ": " + std::strerror(errno));
}

}  // namespace

Card::Card(int completions) {
  ibv_device** list = ibv_get_device_list(nullptr);
  if (list == nullptr || list[0] == nullptr) give_up("there is no RDMA device: start it with weft run");
  if (!weftdv_is_supported(list[0])) give_up("the RDMA device has no kernels: start it with weft run");
  context_ = ibv_open_device(list[0]);
  ibv_free_device_list(list);
  require(context_ != nullptr, "open the device");
  pd_ = ibv_alloc_pd(context_);
  cq_ = ibv_create_cq(context_, completions, nullptr, nullptr, 0);
  require(pd_ != nullptr && cq_ != nullptr, "make a protection domain and a completion queue");
  ibv_gid gid{};
  require(ibv_query_gid(context_, 1, 0, &gid) == 0, "read the device's GID");
  std::memcpy(gid_.data(), gid.raw, gid_.size());
  ibv_port_attr port{};
  require(ibv_query_port(context_, 1, &port) == 0, "query the device's port");
  mtu_ = port.active_mtu;
}

Card::~Card() { ibv_close_device(context_); }

ibv_mr* Card::register_memory(std::span<std::byte> memory) {
  ibv_mr* const mr = ibv_reg_mr(pd_, memory.data(), memory.size(),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  require(mr != nullptr, "register memory");
  return mr;
}

QueuePair Card::make_queue_pair(Calls calls, std::uint32_t at_once) {
  ibv_qp_init_attr_ex attr{};
  attr.qp_type = IBV_QPT_RC;
  attr.send_cq = attr.recv_cq = cq_;
  attr.cap = {
      .max_send_wr = kEntries, .max_recv_wr = kEntries, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 128};
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = pd_;
  weftdv_qp_init_attr weft{};
  if (calls == Calls::serves) weft.comp_mask = WEFTDV_QP_INIT_ATTR_SERVES_CALLS;
  if (calls == Calls::makes) weft.comp_mask = WEFTDV_QP_INIT_ATTR_CALLS;
  if (calls == Calls::locally) weft.comp_mask = WEFTDV_QP_INIT_ATTR_LOCAL_CALLS;
  weft.serves_calls = weft.local_calls = at_once;
  ibv_qp* const qp = weftdv_create_qp(context_, &attr, &weft);
  require(qp != nullptr, "make a queue pair (more than 1000: weft run --max-qps)");
  return QueuePair(qp);
}

Endpoint Card::endpoint_of(const QueuePair& qp) { return {gid_, qp.get()->qp_num, next_psn_++ & 0xFF'FFFF, mtu_}; }

void Card::deploy(const weft_kernel& kernel) {
  errno = weftdv_deploy_kernel(context_, &kernel);
  require(errno == 0, "deploy a kernel");
}

void Card::deploy(const char* name) { deploy(shipped(name)); }

weft_kernel shipped(const char* name) {
  weft_kernel kernel{};
  if (!weft_shipped_kernel(name, &kernel)) give_up(std::string("this Weft has no kernel ") + name);
  return kernel;
}

void QueuePair::connect(const Endpoint& peer, const Endpoint& own) const {
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_INIT;
  a.port_num = 1;
  a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
  errno = ibv_modify_qp(get(), &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  require(errno == 0, "initialize a queue pair");
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = static_cast<ibv_mtu>(std::min(own.mtu, peer.mtu));
  a.dest_qp_num = peer.qpn;
  a.rq_psn = peer.psn;
  a.max_dest_rd_atomic = a.max_rd_atomic = 4;
  a.min_rnr_timer = 1;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  a.ah_attr.grh.hop_limit = 64;
  std::memcpy(a.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
  errno = ibv_modify_qp(get(), &a,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  require(errno == 0, "connect a queue pair");
  a.qp_state = IBV_QPS_RTS;
  a.sq_psn = own.psn;
  a.timeout = 14;
  a.retry_cnt = a.rnr_retry = 7;
  errno = ibv_modify_qp(
      get(), &a,
      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
  require(errno == 0, "let a queue pair send");
}

}  // namespace examples
