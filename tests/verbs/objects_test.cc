// Objects: who refers to whom, what cannot be made, and how that is said.
#include "bed.h"

namespace weft::tests {
namespace {

using ObjectsTest = Bed;

TEST_F(ObjectsTest, NothingInUseCanBeDestroyed) {
  ibv_comp_channel* channel = ibv_create_comp_channel(context);
  ibv_cq* on_channel = ibv_create_cq(context, 4, nullptr, channel, 0);
  ASSERT_NE(on_channel, nullptr);
  EXPECT_EQ(channel->refcnt, 1);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);

  ibv_srq_init_attr srq_attr{.srq_context = nullptr, .attr = {8, 1, 0}};
  ibv_srq* srq = ibv_create_srq(pd, &srq_attr);
  ibv_qp* qp = make_qp({.cq = on_channel, .srq = srq});
  EXPECT_EQ(ibv_destroy_cq(on_channel), EBUSY);
  EXPECT_EQ(ibv_destroy_srq(srq), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);

  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
  EXPECT_EQ(ibv_destroy_cq(on_channel), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
}

TEST_F(ObjectsTest, ParentDomainsNameDomains) {
  ibv_td_init_attr td_attr{};
  ibv_td* td = ibv_alloc_td(context, &td_attr);
  ASSERT_NE(td, nullptr);
  ibv_parent_domain_init_attr attr{};
  EXPECT_EQ(ibv_alloc_parent_domain(context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.pd = pd;
  attr.td = td;
  ibv_pd* parent = ibv_alloc_parent_domain(context, &attr);
  ASSERT_NE(parent, nullptr);
  EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  std::array<char, 64> memory{};
  ibv_mr* mr = ibv_reg_mr(parent, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(parent), EBUSY);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(parent), 0);
  EXPECT_EQ(ibv_dealloc_td(td), 0);
}

// ib_send_lat -e leaves one unread for a round, in a queue of one, when events come in another order than usual.
TEST_F(ObjectsTest, AQueueForOneCompletionHasRoomForMore) {
  ibv_cq* q = ibv_create_cq(context, 1, nullptr, nullptr, 0);
  ASSERT_NE(q, nullptr);
  EXPECT_GT(q->cqe, 1);
  EXPECT_EQ(ibv_resize_cq(q, 100), 0);
  EXPECT_EQ(ibv_resize_cq(q, 1), 0);
  EXPECT_GT(q->cqe, 1);
  EXPECT_EQ(ibv_destroy_cq(q), 0);
}

TEST_F(ObjectsTest, CompletionQueues) {
  EXPECT_EQ(ibv_create_cq(context, 0, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(context, 1, nullptr, nullptr, context->num_comp_vectors), nullptr);
  EXPECT_EQ(errno, EINVAL);
  int mark = 0;
  ibv_cq* q = ibv_create_cq(context, 5, &mark, nullptr, 0);
  ASSERT_NE(q, nullptr);
  EXPECT_GE(q->cqe, 5);
  EXPECT_EQ(q->cq_context, &mark);
  EXPECT_EQ(ibv_resize_cq(q, 100), 0);
  EXPECT_GE(q->cqe, 100);
  EXPECT_EQ(ibv_resize_cq(q, 0), EINVAL);
  ibv_modify_cq_attr moderate{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {16, 100}};
  EXPECT_EQ(ibv_modify_cq(q, &moderate), 0);
  moderate.attr_mask = IBV_CQ_ATTR_RESERVED;
  EXPECT_EQ(ibv_modify_cq(q, &moderate), EOPNOTSUPP);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(q, 1, &wc), 0);
  EXPECT_EQ(ibv_destroy_cq(q), 0);
}

TEST_F(ObjectsTest, SharedReceiveQueues) {
  ibv_srq_init_attr_ex ex{};
  ex.attr = {10, 2, 0};
  ex.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
  ex.pd = pd;
  ex.srq_type = IBV_SRQT_XRC;
  EXPECT_EQ(ibv_create_srq_ex(context, &ex), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  ex.srq_type = IBV_SRQT_BASIC;
  ibv_srq* srq = ibv_create_srq_ex(context, &ex);
  ASSERT_NE(srq, nullptr);
  EXPECT_GE(ex.attr.max_wr, 10U);
  ibv_srq_attr attr{};
  ASSERT_EQ(ibv_query_srq(srq, &attr), 0);
  EXPECT_EQ(attr.max_wr, ex.attr.max_wr);
  attr.srq_limit = 3;
  EXPECT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EOPNOTSUPP);
  ASSERT_EQ(ibv_query_srq(srq, &attr), 0);
  EXPECT_EQ(attr.srq_limit, 3U);
  // Full is full, and the bad one is named.
  std::vector<ibv_recv_wr> wrs(attr.max_wr + 1);
  for (std::size_t i = 0; i + 1 < wrs.size(); ++i) wrs[i].next = &wrs[i + 1];
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_recv(srq, wrs.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &wrs.back());
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(ObjectsTest, QueuePairsThatCannotBe) {
  ibv_qp_init_attr a{};
  a.qp_type = IBV_QPT_RC;
  EXPECT_EQ(ibv_create_qp(pd, &a), nullptr);  // no completion queues
  EXPECT_EQ(errno, EINVAL);
  a.send_cq = a.recv_cq = cq;
  a.cap.max_send_wr = 1U << 30;
  EXPECT_EQ(ibv_create_qp(pd, &a), nullptr);
  EXPECT_EQ(errno, EINVAL);
  a.cap.max_send_wr = 1;
  a.qp_type = IBV_QPT_XRC_SEND;
  EXPECT_EQ(ibv_create_qp(pd, &a), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  a.qp_type = IBV_QPT_RAW_PACKET;
  EXPECT_EQ(ibv_create_qp(pd, &a), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(ObjectsTest, ContextsAreStrangers) {
  ibv_context* other = ibv_open_device(devices[0]);
  ASSERT_NE(other, nullptr);
  ibv_cq* theirs = ibv_create_cq(other, 4, nullptr, nullptr, 0);
  ibv_comp_channel* channel = ibv_create_comp_channel(other);
  ibv_qp_init_attr a{};
  a.qp_type = IBV_QPT_RC;
  a.send_cq = cq;
  a.recv_cq = theirs;
  EXPECT_EQ(ibv_create_qp(pd, &a), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_create_cq(context, 4, nullptr, channel, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(ibv_close_device(other), 0);
}

TEST_F(ObjectsTest, QueuePairsSayWhatTheyAre) {
  int mark = 0;
  ibv_qp_init_attr a{.qp_context = &mark,
                     .send_cq = cq,
                     .recv_cq = cq,
                     .srq = nullptr,
                     .cap = {10, 20, 3, 4, 50},
                     .qp_type = IBV_QPT_RC,
                     .sq_sig_all = 1};
  ibv_qp* qp = ibv_create_qp(pd, &a);
  ASSERT_NE(qp, nullptr);
  EXPECT_GE(a.cap.max_send_wr, 10U);
  EXPECT_GE(a.cap.max_inline_data, 50U);
  EXPECT_EQ(ibv_qp_to_qp_ex(qp), nullptr);
  ASSERT_EQ(to_init(qp), 0);
  ASSERT_EQ(to_rtr(qp, 0x4711), 0);
  ASSERT_EQ(to_rts(qp), 0);
  EXPECT_EQ(qp->state, IBV_QPS_RTS);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(attr.path_mtu, IBV_MTU_1024);
  EXPECT_EQ(attr.dest_qp_num, 0x4711U);
  EXPECT_EQ(attr.sq_psn, 7U);
  EXPECT_EQ(attr.rq_psn, 7U);
  EXPECT_EQ(attr.max_rd_atomic, 4);
  EXPECT_EQ(attr.max_dest_rd_atomic, 4);
  EXPECT_EQ(attr.timeout, 14);
  EXPECT_EQ(attr.ah_attr.is_global, 1);
  EXPECT_EQ(std::memcmp(attr.ah_attr.grh.dgid.raw, gid().raw, 16), 0);
  EXPECT_EQ(init.qp_context, &mark);
  EXPECT_EQ(init.sq_sig_all, 1);
  EXPECT_EQ(init.cap.max_recv_sge, 4U);
}

TEST_F(ObjectsTest, BadTransitions) {
  ibv_qp* qp = make_qp();
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), EINVAL);
  EXPECT_EQ(qp->state, IBV_QPS_RESET);
  const int no_state = 42, no_mtu = 9;  // C programs may have any number there
  std::memcpy(&a.qp_state, &no_state, sizeof no_state);
  EXPECT_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE), EINVAL);
  ASSERT_EQ(to_init(qp), 0);
  // A path without a GID is none on RoCE.
  a = {};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  EXPECT_EQ(ibv_modify_qp(qp, &a, mask), EINVAL);
  a.ah_attr = to_self();
  std::memcpy(&a.path_mtu, &no_mtu, sizeof no_mtu);
  EXPECT_EQ(ibv_modify_qp(qp, &a, mask), EINVAL);
  a.path_mtu = IBV_MTU_1024;
  a.ah_attr.grh.sgid_index = 5;
  EXPECT_EQ(ibv_modify_qp(qp, &a, mask), EINVAL);
  a.ah_attr.grh.sgid_index = 0;
  EXPECT_EQ(ibv_modify_qp(qp, &a, mask), 0);
}

TEST_F(ObjectsTest, AServiceLevelIsKeptWithThePath) {
  ibv_qp* qp = make_qp();
  ASSERT_EQ(to_init(qp), 0);
  ibv_qp_attr a{};
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_1024;
  a.ah_attr = to_self();
  a.ah_attr.sl = 11;
  ASSERT_EQ(ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
  ibv_qp_attr back{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(qp, &back, IBV_QP_AV, &init), 0);
  EXPECT_EQ(back.ah_attr.sl, 11);
}

TEST_F(ObjectsTest, AddressHandles) {
  ibv_ah_attr a = to_self();
  ibv_ah* ah = ibv_create_ah(pd, &a);
  ASSERT_NE(ah, nullptr);
  EXPECT_EQ(ibv_dealloc_pd(pd), EBUSY);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);
  a.is_global = 0;
  EXPECT_EQ(ibv_create_ah(pd, &a), nullptr);
  EXPECT_EQ(errno, EINVAL);
  a = to_self();
  a.grh.sgid_index = 3;
  EXPECT_EQ(ibv_create_ah(pd, &a), nullptr);
  a = to_self();
  a.port_num = 2;
  EXPECT_EQ(ibv_create_ah(pd, &a), nullptr);
  std::array<std::uint8_t, 6> mac{};
  std::uint16_t vlan = 0;
  a = to_self();
  EXPECT_EQ(ibv_resolve_eth_l2_from_gid(context, &a, mac.data(), &vlan), 0);
  EXPECT_EQ(mac[0] & 3, 2);  // locally administered, unicast
}

}  // namespace
}  // namespace weft::tests
