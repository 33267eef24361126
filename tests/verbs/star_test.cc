// StaR through verbs: a program whose cards were told which role to play.
#include <optional>

#include "bed.h"

namespace weft::tests {
namespace {

// The bed's own context is of a stateful card, `server` one of a stateless card.
class StarTest : public Bed {
 protected:
  void SetUp() override {
    ::setenv("WEFT_TRANSPORT", "star", 1);
    ::setenv("WEFT_ROLE", "stateless", 1);
    ::setenv("WEFT_ADDR", kAddress, 1);
    ibv_device** list = ibv_get_device_list(nullptr);
    server = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    ASSERT_NE(server, nullptr);
    server_pd = ibv_alloc_pd(server);
    server_cq = ibv_create_cq(server, 64, nullptr, nullptr, 0);
    ::setenv("WEFT_ROLE", "stateful", 1);
    Bed::SetUp();
  }
  void TearDown() override {
    Bed::TearDown();
    if (server != nullptr) {
      EXPECT_EQ(ibv_close_device(server), 0);
    }
    ::unsetenv("WEFT_TRANSPORT");
    ::unsetenv("WEFT_ROLE");
  }

  ibv_qp* make_stateless(ibv_srq* srq = nullptr, std::uint32_t sges = 4, std::uint32_t inline_bytes = 64) {
    ibv_qp_init_attr a{};
    a.send_cq = a.recv_cq = server_cq;
    a.srq = srq;
    a.cap = {16, 16, sges, sges, inline_bytes};
    a.qp_type = IBV_QPT_RC;
    return ibv_create_qp(server_pd, &a);
  }
  static ibv_wc wait(ibv_cq* cq) {
    ibv_wc wc{};
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
      if (std::chrono::steady_clock::now() > until) {
        ADD_FAILURE() << "no completion";
        break;
      }
    }
    return wc;
  }

  ibv_context* server = nullptr;
  ibv_pd* server_pd = nullptr;
  ibv_cq* server_cq = nullptr;
};

TEST_F(StarTest, AStatelessQueuePairHasNoSharedReceiveQueue) {
  ibv_srq_init_attr attr{.srq_context = nullptr, .attr = {8, 1, 0}};
  ibv_srq* srq = ibv_create_srq(server_pd, &attr);
  ASSERT_NE(srq, nullptr);
  testing::internal::CaptureStderr();
  EXPECT_EQ(make_stateless(srq), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no shared receive queue"), std::string::npos);
  EXPECT_EQ(ibv_destroy_srq(srq), 0);
}

TEST_F(StarTest, AStatelessQueuePairHasTheLimitsThatItsDeviceTells) {
  ibv_device_attr attr{};
  ASSERT_EQ(ibv_query_device(server, &attr), 0);
  EXPECT_EQ(attr.max_sge, 14);
  EXPECT_EQ(make_stateless(nullptr, 15), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(make_stateless(nullptr, 1, 465), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_NE(make_stateless(nullptr, 14, 464), nullptr);
  ASSERT_EQ(ibv_query_device(context, &attr), 0);
  EXPECT_EQ(attr.max_sge, 32);
}

TEST_F(StarTest, BothSidesSendAndTheStatelessOneCannotDrain) {
  ibv_qp *a = make_qp(), *b = make_stateless();
  ASSERT_NE(b, nullptr);
  connect(a, b);
  std::array<char, 64> here{"from here"}, there{};
  ibv_mr* mine = ibv_reg_mr(pd, here.data(), here.size(), IBV_ACCESS_LOCAL_WRITE);
  ibv_mr* theirs = ibv_reg_mr(server_pd, there.data(), there.size(), IBV_ACCESS_LOCAL_WRITE);
  for (const bool from_stateful : {true, false}) {
    ibv_sge to{std::bit_cast<std::uintptr_t>(from_stateful ? there.data() : here.data()), 64,
               (from_stateful ? theirs : mine)->lkey};
    ibv_recv_wr receive{.wr_id = 1, .next = nullptr, .sg_list = &to, .num_sge = 1};
    ibv_recv_wr* bad_receive = nullptr;
    ASSERT_EQ(ibv_post_recv(from_stateful ? b : a, &receive, &bad_receive), 0);
    ibv_sge from{std::bit_cast<std::uintptr_t>(from_stateful ? here.data() : there.data()), 64,
                 (from_stateful ? mine : theirs)->lkey};
    ibv_send_wr send{};
    send.sg_list = &from;
    send.num_sge = 1;
    send.opcode = IBV_WR_SEND;
    send.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(from_stateful ? a : b, &send, &bad), 0);
    const ibv_wc received = wait(from_stateful ? server_cq : cq), sent = wait(from_stateful ? cq : server_cq);
    EXPECT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.byte_len, 64U);
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_STREQ(there.data(), "from here");
    if (from_stateful) here.fill(0);
  }
  EXPECT_STREQ(here.data(), "from here");

  ibv_qp_attr sqd{};
  sqd.qp_state = IBV_QPS_SQD;
  testing::internal::CaptureStderr();
  EXPECT_EQ(ibv_modify_qp(b, &sqd, IBV_QP_STATE), EOPNOTSUPP);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no SQD state"), std::string::npos);
  EXPECT_EQ(ibv_modify_qp(a, &sqd, IBV_QP_STATE), 0);
  EXPECT_EQ(ibv_destroy_qp(a), 0);
  EXPECT_EQ(ibv_destroy_qp(b), 0);
}

// Its number means an event's queue pair, as that of any other.
TEST_F(StarTest, AnEventOfAStatelessQueuePairNamesIt) {
  ibv_qp *first = make_stateless(), *second = make_stateless();
  ASSERT_EQ(to_init(first), 0);
  testing::internal::CaptureStderr();
  ASSERT_EQ(to_rtr(first, second->qp_num), 0);  // of the same role
  EXPECT_NE(testing::internal::GetCapturedStderr().find("is stateless in StaR"), std::string::npos);
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(server, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, first);
  ibv_ack_async_event(&event);
  EXPECT_NE(to_rts(first), 0);
}

}  // namespace
}  // namespace weft::tests
