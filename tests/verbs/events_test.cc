// Events: descriptors that tell of them, fetching, acknowledging.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bed.h"
#include "support/patience.h"

namespace weft::tests {
namespace {

bool readable(int fd, int milliseconds = 0) {
  pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&p, 1, milliseconds) == 1;
}
void make_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// A call that sleeps, in a thread of its own.
class Sleeper {
 public:
  template <class Call>
  explicit Sleeper(Call call)
      : thread_([this, call] {
          const Ending ending{*this};
          number_ = ::gettid();
          call();
        }) {}
  // One that sleeps on would use what the test is about to destroy: the whole run ends here.
  ~Sleeper() {
    if (!ends()) {
      ADD_FAILURE() << "a call sleeps on, though it should have returned";
      std::abort();
    }
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  [[nodiscard]] bool ends() const {
    return eventually([this] { return ended_.load(); });
  }
  [[nodiscard]] bool sleeps_in_read() const {
    return sleeps([](const Asleep& asleep) { return asleep.call == SYS_read; });
  }
  [[nodiscard]] bool sleeps_until_told_by(const pthread_cond_t& condition) const {
    const auto from = std::bit_cast<std::uintptr_t>(&condition);
    return sleeps(
        [&](const Asleep& asleep) { return asleep.call == SYS_futex && asleep.first - from < sizeof condition; });
  }
  pthread_t handle() { return thread_.native_handle(); }

 private:
  // A system call, and its first argument.
  struct Asleep {
    long call = -1;
    std::uint64_t first = 0;
  };
  // The kernel tells it only of a thread that sleeps.
  [[nodiscard]] Asleep look() const {
    Asleep found;
    std::ifstream file("/proc/self/task/" + std::to_string(number_) + "/syscall");
    if (!(file >> found.call >> std::hex >> found.first)) return {};
    return found;
  }
  template <class Matches>
  [[nodiscard]] bool sleeps(Matches&& matches) const {
    return eventually([&] { return ended_ || matches(look()); }) && !ended_;
  }
  // A thread that is cancelled ends, too.
  struct Ending {
    Sleeper& of;
    ~Ending() { of.ended_ = true; }
  };
  std::atomic<bool> ended_ = false;
  std::atomic<pid_t> number_ = 0;
  std::thread thread_;
};

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
  // Sleeps until there is an event.
  void fetch() {
    ibv_cq* which = nullptr;
    void* its_context = nullptr;
    ASSERT_EQ(ibv_get_cq_event(channel, &which, &its_context), 0);
    ibv_ack_cq_events(which, 1);
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
  EXPECT_EQ(next(told).status, IBV_WC_SUCCESS);
  EXPECT_FALSE(readable(channel->fd));  // nobody asked
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  send();
  ASSERT_TRUE(readable(channel->fd, kPatienceMilliseconds));  // although nobody polls: the lane's own thread drives
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
  Sleeper waiter([&] { fetch(); });
  EXPECT_TRUE(waiter.sleeps_in_read());
  send();
  EXPECT_TRUE(waiter.ends());
}

std::atomic<int> handled = 0;
void count(int) { ++handled; }

void handle_signals(int flags) {
  struct sigaction action {};
  action.sa_handler = count;
  action.sa_flags = flags;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
}

// Bug of this test: a signal that came before the call slept interrupted nothing, and the call slept for ever.
TEST_F(EventsTest, SignalsInterruptUnlessTheirHandlerRestartsCalls) {
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  int result = 0;
  handled = 0;
  {
    Sleeper waiter([&] {
      ibv_cq* which = nullptr;
      void* its_context = nullptr;
      result = ibv_get_cq_event(channel, &which, &its_context) == 0 ? 0 : errno;
    });
    EXPECT_TRUE(waiter.sleeps_in_read());
    handle_signals(SA_RESTART);
    ::pthread_kill(waiter.handle(), SIGUSR1);
    EXPECT_TRUE(eventually([] { return handled == 1; }));
    EXPECT_TRUE(waiter.sleeps_in_read()) << "it has been restarted";
    handle_signals(0);
    ::pthread_kill(waiter.handle(), SIGUSR1);
    EXPECT_TRUE(waiter.ends()) << "a signal interrupts it";
    if (HasFailure()) send();  // which wakes it up in any case
  }
  EXPECT_EQ(result, EINTR);
  // And nothing is lost by that.
  send();
  ASSERT_TRUE(readable(channel->fd, kPatienceMilliseconds));
  fetch();
}

TEST_F(EventsTest, WaitingThreadsCanBeCancelled) {  // rping ends its threads so
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer does not know that the frames of a cancelled thread are gone";
#endif
  Sleeper events([&] { fetch(); });
  Sleeper asynchronous([&] {
    ibv_async_event event{};
    for (;;) {
      if (ibv_get_async_event(context, &event) == 0) ibv_ack_async_event(&event);
    }
  });
  for (Sleeper* s : {&events, &asynchronous}) {
    EXPECT_TRUE(s->sleeps_in_read());
    EXPECT_EQ(::pthread_cancel(s->handle()), 0);
    EXPECT_TRUE(s->ends());
  }
}

TEST_F(EventsTest, SolicitedOnly) {
  ASSERT_EQ(ibv_req_notify_cq(told, 1), 0);
  send();
  EXPECT_EQ(next(told).status, IBV_WC_SUCCESS);
  EXPECT_FALSE(readable(channel->fd));
  send(IBV_SEND_SOLICITED);
  EXPECT_TRUE(readable(channel->fd, kPatienceMilliseconds));
}

TEST_F(EventsTest, DestroyingWaitsForAcknowledgement) {
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  send();
  ASSERT_TRUE(readable(channel->fd, kPatienceMilliseconds));
  ibv_cq* which = nullptr;
  void* its_context = nullptr;
  ASSERT_EQ(ibv_get_cq_event(channel, &which, &its_context), 0);
  ASSERT_EQ(ibv_destroy_qp(b), 0);
  {
    Sleeper destroyer([&] { EXPECT_EQ(ibv_destroy_cq(told), 0); });
    ASSERT_TRUE(destroyer.sleeps_until_told_by(told->cond));
    ibv_ack_cq_events(told, 1);
    EXPECT_TRUE(destroyer.ends());
  }
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(EventsTest, EventsOfDestroyedQueuesAreForgotten) {
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  send();
  ASSERT_TRUE(readable(channel->fd, kPatienceMilliseconds));
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
  ibv_async_event event{};
  do {
    ASSERT_TRUE(readable(context->async_fd, kPatienceMilliseconds));
    ASSERT_EQ(ibv_get_async_event(context, &event), 0);
    ibv_ack_async_event(&event);
  } while (event.event_type == IBV_EVENT_COMM_EST);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(event.element.qp, b);
  EXPECT_EQ(ibv_destroy_qp(b), 0);
}

TEST_F(EventsTest, ModeratedEventsComeTogether) {
  constexpr std::uint16_t kMicroseconds = 60'000;
  ibv_modify_cq_attr moderate{.attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = {3, kMicroseconds}};
  ASSERT_EQ(ibv_modify_cq(told, &moderate), 0);
  ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i) {
    send(IBV_SEND_SIGNALED);
    EXPECT_EQ(next().status, IBV_WC_SUCCESS);  // the other side has it
  }
  const bool told_of_two = readable(channel->fd);
  const bool late = std::chrono::steady_clock::now() - began >= std::chrono::microseconds(kMicroseconds);
  EXPECT_TRUE(!told_of_two || late) << "two are too few, and it has not been long";
  send();
  EXPECT_TRUE(readable(channel->fd, kPatienceMilliseconds));
}

}  // namespace
}  // namespace weft::tests
