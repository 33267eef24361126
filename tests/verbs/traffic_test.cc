// Work of every kind between two queue pairs of one program.
#include <string_view>

#include "bed.h"

namespace weft::tests {
namespace {

class TrafficTest : public Bed {
 protected:
  void SetUp() override {
    Bed::SetUp();
    mr = ibv_reg_mr(
        pd, memory.data(), memory.size(),
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    ASSERT_NE(mr, nullptr);
  }
  char* at(std::size_t offset) { return memory.data() + offset; }
  ibv_sge piece(std::size_t offset, std::uint32_t length) { return {number(at(offset)), length, mr->lkey}; }

  alignas(64) std::array<char, 64 * 1024> memory{};
  ibv_mr* mr = nullptr;
};

TEST_F(TrafficTest, SendWithImmediateAndGather) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  ASSERT_EQ(post_receive(b, 5, at(32768), 8192, mr), 0);
  for (int i = 0; i < 5000; ++i) memory[static_cast<std::size_t>(i)] = static_cast<char>(i * 7);
  std::array<ibv_sge, 2> sges{piece(0, 2000), piece(2000, 3000)};
  ibv_send_wr wr{};
  wr.wr_id = 9;
  wr.sg_list = sges.data();
  wr.num_sge = 2;
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.imm_data = 0x0A0B0C0D;  // whatever order the program thinks of, it arrives as it was
  ASSERT_EQ(post(a, wr), 0);
  for (int i = 0; i < 2; ++i) {
    const ibv_wc wc = next();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    if (wc.opcode == IBV_WC_RECV) {
      EXPECT_EQ(wc.wr_id, 5U);
      EXPECT_EQ(wc.byte_len, 5000U);
      EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
      EXPECT_EQ(wc.imm_data, 0x0A0B0C0DU);
      EXPECT_EQ(wc.qp_num, b->qp_num);
    } else {
      EXPECT_EQ(wc.opcode, IBV_WC_SEND);
      EXPECT_EQ(wc.wr_id, 9U);
      EXPECT_EQ(wc.qp_num, a->qp_num);
    }
  }
  EXPECT_EQ(std::memcmp(at(0), at(32768), 5000), 0);
}

TEST_F(TrafficTest, WriteReadAndAtomics) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  std::strcpy(at(0), "written and read back");
  const auto work = [&](ibv_wr_opcode opcode, std::size_t local, std::uint32_t length, std::size_t remote) {
    ibv_sge sge = piece(local, length);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.send_flags = IBV_SEND_SIGNALED;
    if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
      wr.wr.atomic = {number(at(remote)), 40, 99, mr->rkey};
    } else {
      wr.wr.rdma = {number(at(remote)), mr->rkey};
    }
    EXPECT_EQ(post(a, wr), 0);
    return next();
  };
  EXPECT_EQ(work(IBV_WR_RDMA_WRITE, 0, 22, 8192).opcode, IBV_WC_RDMA_WRITE);
  EXPECT_STREQ(at(8192), "written and read back");
  const ibv_wc read = work(IBV_WR_RDMA_READ, 16384, 22, 8192);
  EXPECT_EQ(read.opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(read.byte_len, 22U);
  EXPECT_STREQ(at(16384), "written and read back");

  std::uint64_t value = 2, old = 0;
  std::memcpy(at(1024), &value, 8);
  EXPECT_EQ(work(IBV_WR_ATOMIC_FETCH_AND_ADD, 2048, 8, 1024).opcode, IBV_WC_FETCH_ADD);
  std::memcpy(&old, at(2048), 8);
  std::memcpy(&value, at(1024), 8);
  EXPECT_EQ(old, 2U);
  EXPECT_EQ(value, 42U);
  value = 40;
  std::memcpy(at(1024), &value, 8);
  EXPECT_EQ(work(IBV_WR_ATOMIC_CMP_AND_SWP, 2048, 8, 1024).opcode, IBV_WC_COMP_SWAP);
  std::memcpy(&value, at(1024), 8);
  EXPECT_EQ(value, 99U);
}

TEST_F(TrafficTest, BadWorkIsRefusedAndTheRestNotPosted) {
  ibv_qp *a = make_qp(), *b = make_qp();
  ibv_sge sge = piece(0, 8);
  std::array<ibv_send_wr, 3> list{};
  for (ibv_send_wr& wr : list) {
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
  }
  list[0].next = &list[1];
  list[1].next = &list[2];
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(a, list.data(), &bad), EINVAL);  // not connected
  EXPECT_EQ(bad, &list[0]);
  connect(a, b);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(post_receive(b, 1, at(4096), 64, mr), 0);
  list[1].num_sge = 100;
  EXPECT_EQ(ibv_post_send(a, list.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &list[1]);
  EXPECT_EQ(next().status, IBV_WC_SUCCESS);  // the first one: sent and received
  EXPECT_EQ(next().status, IBV_WC_SUCCESS);
  ibv_wc none{};
  EXPECT_EQ(ibv_poll_cq(cq, 1, &none), 0);
  list[1].num_sge = 1;
  for (const int opcode : {+IBV_WR_TSO, +IBV_WR_DRIVER1, 77}) {
    std::memcpy(&list[1].opcode, &opcode, sizeof opcode);  // C programs may have any number there
    EXPECT_EQ(ibv_post_send(a, &list[1], &bad), EINVAL) << opcode;
  }
  list[1].opcode = IBV_WR_SEND;
  list[1].send_flags = IBV_SEND_INLINE;
  sge.length = 65;
  EXPECT_EQ(ibv_post_send(a, &list[1], &bad), EINVAL);  // more inline than was asked for
}

TEST_F(TrafficTest, FullQueueIsENOMEM) {
  ibv_qp* a = make_qp();
  ASSERT_EQ(to_init(a), 0);
  int posted = 0;
  while (posted < 1000 && post_receive(a, 1, at(0), 64, mr) == 0) ++posted;
  EXPECT_EQ(posted, 16);
  EXPECT_EQ(post_receive(a, 1, at(0), 64, mr), ENOMEM);
}

TEST_F(TrafficTest, ErrorsTellTheReason) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  ibv_sge sge = piece(0, 8);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.rdma = {number(at(0)) - 1, mr->rkey};
  ASSERT_EQ(post(a, wr), 0);
  const ibv_wc wc = next();
  EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_NE(wc.vendor_err, 0U);
  // What is posted now comes back at once.
  ASSERT_EQ(post(a, wr), 0);
  EXPECT_EQ(next().status, IBV_WC_WR_FLUSH_ERR);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  ASSERT_EQ(ibv_query_qp(a, &attr, 0, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_ERR);
}

TEST_F(TrafficTest, DatagramsCarryTheirSender) {
  ibv_qp *a = make_qp({.type = IBV_QPT_UD}), *b = make_qp({.type = IBV_QPT_UD});
  connect(a, b);
  ASSERT_EQ(post_receive(b, 3, at(8192), 1024, mr), 0);
  ibv_ah_attr path = to_self();
  path.grh.traffic_class = 8;
  ibv_ah* ah = ibv_create_ah(pd, &path);
  ASSERT_NE(ah, nullptr);
  std::strcpy(at(0), "datagram");
  ibv_sge sge = piece(0, 9);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.imm_data = 11;
  wr.wr.ud = {ah, b->qp_num, 0x1234};
  ASSERT_EQ(post(a, wr), 0);
  EXPECT_EQ(ibv_destroy_ah(ah), 0);  // work has its own copy
  ibv_wc wc = next();
  ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
  EXPECT_EQ(wc.byte_len, 40U + 9U);
  EXPECT_EQ(wc.src_qp, a->qp_num);
  EXPECT_EQ(wc.sl, 2);  // as drivers of RoCE cards say "IPv4"
  EXPECT_EQ(wc.wc_flags, static_cast<unsigned>(IBV_WC_GRH | IBV_WC_WITH_IMM));
  EXPECT_STREQ(at(8192 + 40), "datagram");
  // RoCE v2 over IPv4: the header fills the second half of the 40 bytes, its destination the last four.
  EXPECT_EQ(static_cast<unsigned char>(memory[8192 + 20]), 0x45);
  const ibv_gid own = gid();
  EXPECT_EQ(std::memcmp(at(8192 + 36), &own.raw[12], 4), 0);
  ibv_grh grh{};
  std::memcpy(&grh, at(8192), sizeof grh);
  ibv_ah_attr back{};
  ASSERT_EQ(ibv_init_ah_from_wc(context, 1, &wc, &grh, &back), 0);
  EXPECT_EQ(back.is_global, 1);
  EXPECT_EQ(back.grh.traffic_class, 8);
  EXPECT_EQ(std::memcmp(back.grh.dgid.raw, gid().raw, 16), 0);
  ibv_ah* answer = ibv_create_ah_from_wc(pd, &wc, &grh, 1);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(ibv_destroy_ah(answer), 0);
  wr.wr.ud.ah = nullptr;
  EXPECT_EQ(post(a, wr), EINVAL);
}

TEST_F(TrafficTest, DatagramQueuePairsDoNothingButSend) {
  ibv_qp *a = make_qp({.type = IBV_QPT_UD}), *b = make_qp({.type = IBV_QPT_UD});
  connect(a, b);
  ibv_ah_attr path = to_self();
  ibv_ah* ah = ibv_create_ah(pd, &path);
  ASSERT_NE(ah, nullptr);
  ibv_sge sge = piece(0, 8);
  for (const ibv_wr_opcode opcode :
       {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
        IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW, IBV_WR_SEND_WITH_INV}) {
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = opcode;
    wr.wr.ud = {ah, b->qp_num, 0x1234};
    wr.bind_mw.mw = std::bit_cast<ibv_mw*>(std::uintptr_t{8});  // is not looked at
    EXPECT_EQ(post(a, wr), EINVAL) << opcode;
  }
}

TEST_F(TrafficTest, PiecesArriveAsOneMessageInlineOrNot) {
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  std::strcpy(at(0), "one two three");
  for (const unsigned flags : {+IBV_SEND_SIGNALED, IBV_SEND_SIGNALED | IBV_SEND_INLINE}) {
    std::memset(at(4096), 0, 200);
    std::array into{piece(4096, 5), piece(4196, 64)};
    ibv_recv_wr receive{7, nullptr, into.data(), 2};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_recv(b, &receive, &bad), 0);
    std::array from{piece(8, 6), piece(0, 0), piece(0, 8)};
    ibv_send_wr wr{};
    wr.sg_list = from.data();
    wr.num_sge = 3;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = flags;
    ASSERT_EQ(post(a, wr), 0);
    for (int i = 0; i < 2; ++i) {
      const ibv_wc wc = next();
      EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
      if (wc.opcode == IBV_WC_RECV) {
        EXPECT_EQ(wc.byte_len, 14U);
      }
    }
    EXPECT_EQ(std::string_view(at(4096), 5), "three");
    EXPECT_EQ(std::string_view(at(4197), 8), "one two ");
  }
}

TEST_F(TrafficTest, UnreliableConnection) {
  ibv_qp *a = make_qp({.type = IBV_QPT_UC}), *b = make_qp({.type = IBV_QPT_UC});
  connect(a, b);
  ASSERT_EQ(post_receive(b, 1, at(8192), 4096, mr), 0);
  std::strcpy(at(0), "unreliable");
  ibv_sge sge = piece(0, 3000);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  wr.wr.rdma = {number(at(20000)), mr->rkey};
  ASSERT_EQ(post(a, wr), 0);
  const ibv_wc wc = next();
  EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_STREQ(at(20000), "unreliable");
  wr.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(post(a, wr), EINVAL);
}

TEST_F(TrafficTest, SharedReceivesAreTakenInTurnAndTheLimitIsTold) {
  ibv_srq_init_attr init{.srq_context = nullptr, .attr = {8, 1, 0}};
  ibv_srq* srq = ibv_create_srq(pd, &init);
  ASSERT_NE(srq, nullptr);
  ibv_qp *a = make_qp(), *b = make_qp({.srq = srq});
  connect(a, b);
  for (std::uint64_t i = 0; i < 4; ++i) {
    ibv_sge sge = piece(8192 + i * 64, 64);
    ibv_recv_wr wr{i, nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
  }
  EXPECT_EQ(post_receive(b, 1, at(0), 8, mr), EINVAL);  // its receives are shared
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 3};
  ASSERT_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
  ibv_sge sge = piece(0, 10);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  for (std::uint64_t i = 0; i < 2; ++i) {
    ASSERT_EQ(post(a, wr), 0);
    const ibv_wc wc = next();
    EXPECT_EQ(wc.status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc.wr_id, i);
  }
  ibv_async_event event{};
  do {  // that the connection is established is told, too
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
  } while (event.event_type == IBV_EVENT_COMM_EST);
  EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event.element.srq, srq);
  EXPECT_EQ(ibv_destroy_qp(b), 0);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

}  // namespace
}  // namespace weft::tests
