// A fork: the child cannot use the parent's card, hangs nowhere, and may have one of its own.
#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "bed.h"

namespace weft::tests {
namespace {

using ForkTest = Bed;

// What the child found, as its exit code; 0: all as it should be.
int look_around(ibv_context* context, ibv_pd* pd, ibv_cq* cq, ibv_qp* qp) {
  ibv_wc wc{};
  if (ibv_poll_cq(cq, 1, &wc) >= 0) return 1;
  if (ibv_alloc_pd(context) != nullptr || errno != EIO) return 2;
  ibv_send_wr wr{};
  ibv_send_wr* bad = nullptr;
  if (ibv_post_send(qp, &wr, &bad) != EIO || bad != &wr) return 3;
  if (ibv_destroy_qp(qp) != EIO) return 4;
  ibv_async_event event{};
  if (ibv_get_async_event(context, &event) != -1 || errno != EIO) return 5;
  if (ibv_close_device(context) != EIO) return 6;
  if (ibv_dealloc_pd(pd) != EIO) return 7;
  ibv_device** list = ibv_get_device_list(nullptr);
  ibv_context* own = ibv_open_device(list[0]);
  if (own == nullptr || ibv_alloc_pd(own) == nullptr) return 8;
  if (ibv_close_device(own) != 0) return 9;
  return 0;
}

TEST_F(ForkTest, TheCardStaysWithTheParent) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's allocator may be locked for ever in the child of a program with threads";
#endif
  ibv_qp *a = make_qp(), *b = make_qp();
  connect(a, b);
  EXPECT_EQ(ibv_fork_init(), 0);
  EXPECT_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
  // Another thread is in and out of the lane all the time, so that the fork finds its lock taken now and then.
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    ibv_wc wc{};
    while (!stop) (void)ibv_poll_cq(cq, 1, &wc);
  });
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(10);
      ::_exit(look_around(context, pd, cq, a));
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  stop = true;
  busy.join();
  // The parent goes on as if nothing had been.
  std::array<char, 64> memory{};
  ibv_mr* mr = ibv_reg_mr(pd, memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE);
  ASSERT_EQ(post_receive(b, 1, memory.data(), 32, mr), 0);
  ibv_sge sge{number(memory.data() + 32), 5, mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  ASSERT_EQ(post(a, wr), 0);
  EXPECT_EQ(next().status, IBV_WC_SUCCESS);
}

}  // namespace
}  // namespace weft::tests
