// Events: descriptors that tell of them, fetching, acknowledging.
#include <atomic>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <poll.h>

#include "bed.h"

namespace weft::tests {
namespace {

bool readable(int fd, int milliseconds = 0) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&p, 1, milliseconds) == 1;
}
void make_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

class EventsTest : public Bed {
 protected:
  void SetUp() override {
    Bed::SetUp();
    channel = ibv_create_comp_channel(context);
    ASSERT_NE(channel, nullptr);
    told = ibv_create_cq(context, 32, &mark, channel, 0);
    ASSERT_NE(told, nullptr);
    mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
    a = make_qp();
    b = make_qp({.cq = told});
    connect(a, b);
  }
  void send(unsigned flags = 0) {
    ASSERT_EQ(post_receive(b, 1, memory.data(), 64, mr), 0);
    ibv_sge sge{number(memory.data() + 128), 8, mr->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = flags;
    ASSERT_EQ(post(a, wr), 0);
  }
  int mark = 0;
  std::array<char, 256> memory{};
  ibv_mr* mr = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* told = nullptr;
  ibv_qp *a = nullptr, *b = nullptr;
};

TEST_F(EventsTest, DescriptorsDoNotSurviveExec) {
  for (const int fd : {channel->fd, context->async_fd}) {
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST_F(EventsTest, ReadableExactlyWhileAnEventWaits) {
  EXPECT_FALSE(readable(channel->fd));
  send();
  EXPECT_FALSE(readable(channel->fd, 50));  // nobody asked
  EXPECT_EQ(next(told).status, IBV_WC_SUCCESS);
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  send();
  ASSERT_TRUE(readable(channel->fd, 5000));  // although nobody polls: the lane's own thread drives
  ibv_cq* which = nullptr;
  void* its_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &which, &its_context), 0);
  EXPECT_EQ(which, told);
  EXPECT_EQ(its_context, &mark);
  EXPECT_FALSE(readable(channel->fd));
  ibv_ack_cq_events(told, 1);
  EXPECT_EQ(next(told).status, IBV_WC_SUCCESS);
}

TEST_F(EventsTest, NonBlockingChannelsSaySo) {
  make_nonblocking(channel->fd);
  ibv_cq* which = nullptr;
  void* its_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel, &which, &its_context), -1);
  EXPECT_EQ(errno, EAGAIN);
  make_nonblocking(context->async_fd);
  ibv_async_event event{};
  while (ibv_get_async_event(context, &event) == 0) ibv_ack_async_event(&event);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(EventsTest, BlockedCallsWakeUp) {
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  std::thread waiter([&] {
    ibv_cq* which = nullptr;
    void* its_context = nullptr;
    EXPECT_EQ(ibv_get_cq_event(channel, &which, &its_context), 0);
    ibv_ack_cq_events(which, 1);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  send();
  waiter.join();
}

void nothing(int) {}

TEST_F(EventsTest, SignalsInterruptUnlessTheirHandlerRestartsCalls) {
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  std::atomic<int> result = 99;
  std::thread waiter([&] {
    ibv_cq* which = nullptr;
    void* its_context = nullptr;
    result = ibv_get_cq_event(channel, &which, &its_context) == 0 ? 0 : errno;
  });
  const auto interrupt = [&](int flags) {
    struct sigaction action {};
    action.sa_handler = nothing;
    action.sa_flags = flags;
    ::sigaction(SIGUSR1, &action, nullptr);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ::pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  interrupt(SA_RESTART);
  EXPECT_EQ(result, 99);
  interrupt(0);
  waiter.join();
  EXPECT_EQ(result, EINTR);
  // And nothing is lost by that.
  send();
  ibv_cq* which = nullptr;
  void* its_context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel, &which, &its_context), 0);
  ibv_ack_cq_events(told, 1);
}

TEST_F(EventsTest, WaitingThreadsCanBeCancelled) {  // rping ends its threads so
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer does not know that the frames of a cancelled thread are gone";
#endif
  std::thread events([&] {
    ibv_cq* which = nullptr;
    void* its_context = nullptr;
    (void)ibv_get_cq_event(channel, &which, &its_context);
  });
  std::thread asynchronous([&] {
    ibv_async_event event{};
    for (;;) {
      if (ibv_get_async_event(context, &event) == 0) ibv_ack_async_event(&event);
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (std::thread* t : {&events, &asynchronous}) {
    EXPECT_EQ(::pthread_cancel(t->native_handle()), 0);
    t->join();
  }
}

TEST_F(EventsTest, SolicitedOnly) {
  ASSERT_EQ(ibv_req_notify_cq(told, 1), 0);
  send();
  EXPECT_FALSE(readable(channel->fd, 50));
  send(IBV_SEND_SOLICITED);
  EXPECT_TRUE(readable(channel->fd, 5000));
}

TEST_F(EventsTest, DestroyingWaitsForAcknowledgement) {
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  send();
  ibv_cq* which = nullptr;
  void* its_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &which, &its_context), 0);
  ASSERT_EQ(ibv_destroy_qp(b), 0);
  std::atomic<bool> gone = false;
  std::thread destroyer([&] {
    EXPECT_EQ(ibv_destroy_cq(told), 0);
    gone = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(gone);
  ibv_ack_cq_events(told, 1);
  destroyer.join();
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(EventsTest, EventsOfDestroyedQueuesAreForgotten) {
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  send();
  ASSERT_TRUE(readable(channel->fd, 5000));
  ASSERT_EQ(ibv_destroy_qp(b), 0);
  ASSERT_EQ(ibv_destroy_cq(told), 0);
  EXPECT_FALSE(readable(channel->fd));
}

TEST_F(EventsTest, AsynchronousEventsNameTheirObject) {
  // The peer writes to where it may not: both sides end.
  ibv_sge sge{number(memory.data()), 8, mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.wr.rdma = {0x1000, 0x4711};
  ASSERT_EQ(post(a, wr), 0);
  EXPECT_EQ(next().status, IBV_WC_REM_ACCESS_ERR);
  ASSERT_TRUE(readable(context->async_fd, 5000));
  ibv_async_event event{};
  do {
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
  } while (event.event_type == IBV_EVENT_COMM_EST);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, b);
  EXPECT_EQ(ibv_destroy_qp(b), 0);
}

TEST_F(EventsTest, ModeratedEventsComeTogether) {
  ibv_modify_cq_attr moderate{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {3, 60'000}};
  ASSERT_EQ(ibv_modify_cq(told, &moderate), 0);
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  send();
  send();
  EXPECT_FALSE(readable(channel->fd, 20));
  send();
  EXPECT_TRUE(readable(channel->fd, 5000));
}

}  // namespace
}  // namespace weft::tests
