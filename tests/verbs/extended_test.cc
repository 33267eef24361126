// Extended polling, and work that is built call by call.
#include <ctime>

#include "bed.h"

namespace weft::tests {
namespace {

class ExtendedTest : public Bed {
 protected:
  void SetUp() override {
    Bed::SetUp();
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 64;
    attr.wc_flags = static_cast<std::uint64_t>(IBV_WC_STANDARD_FLAGS) | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
    ex = ibv_create_cq_ex(context, &attr);
    ASSERT_NE(ex, nullptr);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(),
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                        IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
    ASSERT_NE(mr, nullptr);
  }
  void make_pair(std::uint64_t operations) {
    a = make_qp({.cq = ibv_cq_ex_to_cq(ex), .operations = operations});
    b = make_qp();
    connect(a, b);
    ax = ibv_qp_to_qp_ex(a);
    ASSERT_NE(ax, nullptr);
  }
  // Stands at the next completion, or fails after five seconds.
  bool start() {
    ibv_poll_cq_attr attr{};
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < until) {
      const int code = ibv_start_poll(ex, &attr);
      if (code == 0) return true;
      EXPECT_EQ(code, ENOENT);
    }
    return false;
  }
  ibv_wc_status status_of_next() {
    if (!start()) return IBV_WC_GENERAL_ERR;
    const ibv_wc_status status = ex->status;
    ibv_end_poll(ex);
    return status;
  }

  alignas(64) std::array<char, 8192> memory{};
  ibv_cq_ex* ex = nullptr;
  ibv_mr* mr = nullptr;
  ibv_qp *a = nullptr, *b = nullptr;
  ibv_qp_ex* ax = nullptr;
};

TEST_F(ExtendedTest, CompletionsAreReadPartByPart) {
  make_pair(IBV_QP_EX_WITH_SEND);
  ASSERT_EQ(post_receive(a, 21, memory.data(), 64, mr), 0);
  ASSERT_EQ(post_receive(a, 22, memory.data(), 64, mr), 0);
  ibv_sge sge{number(memory.data() + 100), 10, mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND_WITH_IMM;
  wr.imm_data = 17;
  ASSERT_EQ(post(b, wr), 0);
  ASSERT_EQ(post(b, wr), 0);
  ASSERT_TRUE(start());
  EXPECT_EQ(ex->wr_id, 21U);
  EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_byte_len(ex), 10U);
  EXPECT_EQ(ibv_wc_read_imm_data(ex), 17U);
  EXPECT_EQ(ibv_wc_read_qp_num(ex), a->qp_num);
  EXPECT_EQ(ibv_wc_read_wc_flags(ex), static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(ibv_wc_read_vendor_err(ex), 0U);
  EXPECT_EQ(ibv_wc_read_slid(ex), 0U);
  EXPECT_EQ(ibv_wc_read_sl(ex), 0);
  const std::uint64_t first = ibv_wc_read_completion_ts(ex);
  EXPECT_GT(first, 0U);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  EXPECT_NEAR(static_cast<double>(ibv_wc_read_completion_wallclock_ns(ex)),
              static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec), 10e9);
  int code = ENOENT;
  for (int tries = 0; code == ENOENT && tries < 1'000'000; ++tries) code = ibv_next_poll(ex);
  ASSERT_EQ(code, 0);
  EXPECT_EQ(ex->wr_id, 22U);
  EXPECT_GE(ibv_wc_read_completion_ts(ex), first);
  EXPECT_EQ(ibv_next_poll(ex), ENOENT);
  ibv_end_poll(ex);
}

TEST_F(ExtendedTest, WhatCannotBeReadCannotBeAskedFor) {
  ibv_cq_init_attr_ex attr{};
  attr.cqe = 4;
  attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
  EXPECT_EQ(ibv_create_cq_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attr.wc_flags = 0;
  attr.comp_mask = 1U << 30;
  EXPECT_EQ(ibv_create_cq_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
  attr.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  ibv_cq_ex* single = ibv_create_cq_ex(context, &attr);
  ASSERT_NE(single, nullptr);
  ibv_poll_cq_attr poll{};
  EXPECT_EQ(ibv_start_poll(single, &poll), ENOENT);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(single)), 0);
}

TEST_F(ExtendedTest, EveryBuilder) {
  make_pair(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
            IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
            IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(post_receive(b, 1, memory.data() + 4096, 64, mr), 0);
  std::strcpy(memory.data(), "built");
  const std::uint64_t target = number(memory.data() + 1024);
  ibv_wr_start(ax);
  ax->wr_flags = IBV_SEND_SIGNALED;
  ax->wr_id = 1;
  ibv_wr_rdma_write(ax, mr->rkey, target);
  ibv_wr_set_sge(ax, mr->lkey, number(memory.data()), 6);
  ax->wr_id = 2;
  ibv_wr_rdma_read(ax, mr->rkey, target);
  ibv_wr_set_sge(ax, mr->lkey, number(memory.data() + 2048), 6);
  ax->wr_id = 3;
  ax->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
  ibv_wr_send(ax);
  std::array<char, 4> inline_bytes{'a', 'b', 'c', 'd'};
  ibv_wr_set_inline_data(ax, inline_bytes.data(), 4);
  ax->wr_id = 4;
  ibv_wr_send_imm(ax, 9);
  std::array<ibv_data_buf, 2> parts{ibv_data_buf{inline_bytes.data(), 2}, ibv_data_buf{inline_bytes.data() + 2, 2}};
  ibv_wr_set_inline_data_list(ax, 2, parts.data());
  ax->wr_id = 5;
  ibv_wr_rdma_write_imm(ax, mr->rkey, target, 8);
  std::array<ibv_sge, 2> sges{ibv_sge{number(memory.data()), 2, mr->lkey},
                              ibv_sge{number(memory.data() + 2), 4, mr->lkey}};
  ibv_wr_set_sge_list(ax, 2, sges.data());
  ax->wr_id = 6;
  ibv_wr_atomic_fetch_add(ax, mr->rkey, number(memory.data() + 6144), 5);
  ibv_wr_set_sge(ax, mr->lkey, number(memory.data() + 7168), 8);
  ax->wr_id = 7;
  ibv_wr_atomic_cmp_swp(ax, mr->rkey, number(memory.data() + 6144), 5, 55);
  ibv_wr_set_sge(ax, mr->lkey, number(memory.data() + 7176), 8);
  inline_bytes.fill('z');  // was copied
  ASSERT_EQ(ibv_wr_complete(ax), 0);
  for (std::uint64_t id = 1; id <= 7; ++id) {
    ASSERT_TRUE(start());
    EXPECT_EQ(ex->status, IBV_WC_SUCCESS) << id;
    EXPECT_EQ(ex->wr_id, id);
    ibv_end_poll(ex);
  }
  EXPECT_STREQ(memory.data() + 1024, "built");
  EXPECT_STREQ(memory.data() + 2048, "built");
  EXPECT_EQ(std::memcmp(memory.data() + 4096, "abcd", 4), 0);
  std::uint64_t value = 0;
  std::memcpy(&value, memory.data() + 6144, 8);
  EXPECT_EQ(value, 55U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next().status, IBV_WC_SUCCESS);
}

TEST_F(ExtendedTest, AllOrNothing) {
  make_pair(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
  const std::uint64_t target = number(memory.data() + 1024);
  const auto write = [&](std::uint32_t length) {
    ibv_wr_rdma_write(ax, mr->rkey, target);
    ibv_wr_set_sge(ax, mr->lkey, number(memory.data()), length);
  };
  ax->wr_flags = IBV_SEND_SIGNALED;
  std::strcpy(memory.data(), "never");
  ibv_wr_start(ax);
  write(6);
  ibv_wr_abort(ax);
  ibv_wr_start(ax);
  write(6);
  std::array<char, 100> large{};
  ibv_wr_send(ax);
  ibv_wr_set_inline_data(ax, large.data(), large.size());  // more than the queue pair takes
  EXPECT_EQ(ibv_wr_complete(ax), EINVAL);
  ibv_wr_start(ax);
  for (int i = 0; i < 17; ++i) write(6);  // one more than there is room for
  EXPECT_EQ(ibv_wr_complete(ax), ENOMEM);
  ibv_poll_cq_attr attr{};
  EXPECT_EQ(ibv_start_poll(ex, &attr), ENOENT);
  EXPECT_STREQ(memory.data() + 1024, "");
  ibv_wr_start(ax);
  write(6);
  EXPECT_EQ(ibv_wr_complete(ax), 0);
  EXPECT_EQ(status_of_next(), IBV_WC_SUCCESS);
  EXPECT_STREQ(memory.data() + 1024, "never");
}

TEST_F(ExtendedTest, WindowsAreBoundAndInvalidatedFromAfar) {
  make_pair(IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_SEND);
  ibv_mw* mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
  ASSERT_NE(mw, nullptr);
  const std::uint32_t key = ibv_inc_rkey(mw->rkey);
  const ibv_mw_bind_info info{
      .mr = mr, .addr = number(memory.data()), .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
  ax->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_start(ax);
  ibv_wr_bind_mw(ax, mw, key, &info);
  ASSERT_EQ(ibv_wr_complete(ax), 0);
  EXPECT_EQ(status_of_next(), IBV_WC_SUCCESS);
  // The peer sends, and takes the window back with it.
  ASSERT_EQ(post_receive(a, 30, memory.data() + 512, 64, mr), 0);
  ibv_send_wr wr{};
  wr.opcode = IBV_WR_SEND_WITH_INV;
  wr.invalidate_rkey = key;
  ASSERT_EQ(post(b, wr), 0);
  ASSERT_TRUE(start());
  EXPECT_EQ(ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_wc_flags(ex), static_cast<unsigned>(IBV_WC_WITH_INV));
  EXPECT_EQ(ibv_wc_read_invalidated_rkey(ex), key);
  ibv_end_poll(ex);
  EXPECT_EQ(ibv_dealloc_mw(mw), 0);
}

TEST_F(ExtendedTest, OperationsThatATypeHasNotAreRefused) {
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = cq;
  attr.cap = {1, 1, 1, 1, 0};
  attr.qp_type = IBV_QPT_UD;
  attr.pd = pd;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE;
  EXPECT_EQ(ibv_create_qp_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attr.qp_type = IBV_QPT_RC;
  attr.send_ops_flags = IBV_QP_EX_WITH_TSO;
  EXPECT_EQ(ibv_create_qp_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attr.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  EXPECT_EQ(ibv_create_qp_ex(context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(ExtendedTest, BuiltDatagrams) {
  ibv_qp* from = make_qp({.type = IBV_QPT_UD, .operations = IBV_QP_EX_WITH_SEND});
  ibv_qp* to = make_qp({.type = IBV_QPT_UD});
  connect(from, to);
  ASSERT_EQ(post_receive(to, 1, memory.data(), 128, mr), 0);
  ibv_ah_attr path = to_self();
  ibv_ah* ah = ibv_create_ah(pd, &path);
  ibv_qp_ex* built = ibv_qp_to_qp_ex(from);
  ASSERT_NE(built, nullptr);
  ibv_wr_start(built);
  built->wr_flags = 0;
  ibv_wr_send(built);
  ibv_wr_set_ud_addr(built, ah, to->qp_num, 0x1234);
  std::array<char, 6> text{"hello"};
  ibv_wr_set_inline_data(built, text.data(), text.size());
  ASSERT_EQ(ibv_wr_complete(built), 0);
  EXPECT_EQ(next().byte_len, 46U);
  EXPECT_STREQ(memory.data() + 40, "hello");
}

}  // namespace
}  // namespace weft::tests
