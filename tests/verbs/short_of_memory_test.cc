// A program that is short of memory is told so, wherever in a call there is none left.
#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>

#include "bed.h"
#include "verbs/cm_port.h"

namespace {

constexpr long kNever = -1;
thread_local long left = kNever;  // allocations of this thread that succeed, before one does not
thread_local bool refused = false;

}  // namespace

// The library has an operator new of its own, and that asks here.
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* malloc(std::size_t bytes) {
  if (left != kNever && left-- == 0) {
    refused = true;
    left = kNever;
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(bytes);
}

namespace weft::tests {
namespace {

class ShortOfMemory : public Bed {};

constexpr std::uint16_t kUdp = 0x0111;

struct Inbox final : verbs::CmReceiver {
  void on_mad(const wire::Address&, const wire::Address&, std::span<const std::byte>) override {}
};

// What the lane must remember of a new peer, and what it says to the broker because of it, takes memory, too. Bug: the
// program was ended where there was none for that.
TEST_F(ShortOfMemory, ModifyQpSaysSo) {
  constexpr long kMost = 1000;
  long refusals = 0;
  for (long good = 0; good < kMost; ++good) {
    ibv_qp* qp = make_qp();
    ASSERT_EQ(to_init(qp), 0);
    refused = false;
    left = good;
    const int answer = to_rtr(qp, qp->qp_num);
    left = kNever;
    EXPECT_EQ(answer, refused ? ENOMEM : 0) << good;
    if (!refused) break;
    ++refusals;
    EXPECT_EQ(ibv_destroy_qp(qp), 0) << "all else goes on";
    TearDown();  // another lane, which knows nobody yet
    SetUp();
  }
  EXPECT_GT(refusals, 0);
  EXPECT_LT(refusals, kMost);
}

// Bug: librdmacm.so.1 met an exception of libibverbs.so.1, which ended the program. Whoever has been told may ask
// again.
TEST_F(ShortOfMemory, WayToQp1SaysSo) {
  constexpr long kMost = 1000;
  long refusals = 0;
  for (long good = 0; good < kMost; ++good) {
    verbs::CmPort* const port = weft_cm_port(context);
    Inbox inbox;
    std::uint16_t chosen = 0;
    refused = false;
    left = good;
    int answer = port->open(inbox);
    if (answer == 0) answer = port->bind_service(kUdp, {}, chosen);
    left = kNever;
    EXPECT_EQ(answer, refused ? ENOMEM : 0) << good;
    if (answer != 0 && chosen == 0) {
      port->close();
      ASSERT_EQ(port->open(inbox), 0) << good;
      ASSERT_EQ(port->bind_service(kUdp, {}, chosen), 0) << good;
    }
    port->close();
    if (!refused) break;
    ++refusals;
    TearDown();
    SetUp();
  }
  EXPECT_GT(refusals, 0);
  EXPECT_LT(refusals, kMost);
}

}  // namespace
}  // namespace weft::tests
