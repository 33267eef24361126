// An opened device with what most tests need, on an address of the loopback network that no other test binary uses.
#pragma once

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

namespace weft::tests {

inline constexpr const char* kAddress = "127.0.71.1";

struct QpOptions {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_cq* cq = nullptr;  // the bed's
  ibv_srq* srq = nullptr;
  std::uint32_t inline_bytes = 64, sges = 4, entries = 16;
  std::uint64_t operations = 0;  // ibv_wr_*
};

class Bed : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("WEFT_ADDR", kAddress, 1);
    devices = ibv_get_device_list(nullptr);
    ASSERT_NE(devices, nullptr);
    ASSERT_NE(devices[0], nullptr);
    context = ibv_open_device(devices[0]);
    ASSERT_NE(context, nullptr);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
    ASSERT_NE(pd, nullptr);
    ASSERT_NE(cq, nullptr);
  }
  // Whatever a test has made and not destroyed goes with the device.
  void TearDown() override {
    if (context != nullptr) {
      EXPECT_EQ(ibv_close_device(context), 0);
    }
    ibv_free_device_list(devices);
  }

  ibv_qp* make_qp(const QpOptions& o = {}) {
    ibv_qp_init_attr_ex a{};
    a.send_cq = a.recv_cq = o.cq != nullptr ? o.cq : cq;
    a.srq = o.srq;
    a.cap = {o.entries, o.entries, o.sges, o.sges, o.inline_bytes};
    a.qp_type = o.type;
    a.comp_mask = IBV_QP_INIT_ATTR_PD;
    if (o.operations != 0) a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    a.pd = pd;
    a.send_ops_flags = o.operations;
    ibv_qp* qp = ibv_create_qp_ex(context, &a);
    EXPECT_NE(qp, nullptr) << std::strerror(errno);
    return qp;
  }

  ibv_gid gid() {
    ibv_gid g{};
    EXPECT_EQ(ibv_query_gid(context, 1, 0, &g), 0);
    return g;
  }
  ibv_ah_attr to_self() {
    ibv_ah_attr a{};
    a.is_global = 1;
    a.port_num = 1;
    a.grh.dgid = gid();
    a.grh.hop_limit = 1;
    return a;
  }

  int to_init(ibv_qp* qp) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = 1;
    a.qkey = 0x1234;
    a.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    const int own = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | own);
  }
  int to_rtr(ibv_qp* qp, std::uint32_t peer) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer;
    a.rq_psn = 7;
    a.max_dest_rd_atomic = 4;
    a.min_rnr_timer = 12;
    a.ah_attr = to_self();
    if (qp->qp_type == IBV_QPT_UD) return ibv_modify_qp(qp, &a, IBV_QP_STATE);
    const int reliable = qp->qp_type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
    return ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | reliable);
  }
  int to_rts(ibv_qp* qp) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_RTS;
    a.sq_psn = 7;
    a.timeout = 14;
    a.retry_cnt = 7;
    a.rnr_retry = 7;
    a.max_rd_atomic = 4;
    const int reliable = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN | (qp->qp_type == IBV_QPT_RC ? reliable : 0));
  }
  void connect(ibv_qp* a, ibv_qp* b) {
    for (ibv_qp* qp : {a, b}) {
      ASSERT_EQ(to_init(qp), 0);
      ASSERT_EQ(to_rtr(qp, (qp == a ? b : a)->qp_num), 0);
      ASSERT_EQ(to_rts(qp), 0);
    }
  }

  // The next completion; a status of IBV_WC_GENERAL_ERR, which the card never gives, if none comes within five seconds.
  ibv_wc next(ibv_cq* from = nullptr) {
    ibv_wc wc{};
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < until) {
      if (ibv_poll_cq(from != nullptr ? from : cq, 1, &wc) == 1) return wc;
    }
    ADD_FAILURE() << "no completion within five seconds";
    wc.status = IBV_WC_GENERAL_ERR;
    return wc;
  }

  int post_receive(ibv_qp* qp, std::uint64_t id, void* memory, std::uint32_t length, ibv_mr* mr) {
    ibv_sge sge{number(memory), length, mr->lkey};
    ibv_recv_wr wr{id, nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    return ibv_post_recv(qp, &wr, &bad);
  }
  static int post(ibv_qp* qp, ibv_send_wr& wr) {
    ibv_send_wr* bad = nullptr;
    const int code = ibv_post_send(qp, &wr, &bad);
    EXPECT_EQ(bad, code == 0 ? nullptr : &wr);
    return code;
  }
  static std::uint64_t number(const void* p) { return std::bit_cast<std::uintptr_t>(p); }

  ibv_device** devices = nullptr;
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
};

}  // namespace weft::tests
