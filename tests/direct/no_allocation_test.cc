// The packet path allocates nothing: every call of operator new is counted while messages of every verb pass between
// two cards. Counting only what happens after everything has been made.
#include <array>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "world/direct/pair.h"

namespace {
std::size_t allocations = 0;
}

// Not inlined: the compiler would see free() meet what it takes for the usual operator new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace weft {
namespace {

using nic::WorkKind;

constexpr nic::Rights kAll =
    nic::Rights::local_write | nic::Rights::remote_write | nic::Rights::remote_read | nic::Rights::remote_atomic;

class NoAllocation : public testing::Test {
 protected:
  static constexpr std::uint64_t kHere = 0x10'0000, kThere = 0x20'0000;
  static constexpr std::uint32_t kBytes = 10'000;  // three packets

  explicit NoAllocation(nic::Dialect dialect = nic::Dialect::roce) : pair_(speaking(dialect), direct::Icrc::both_ends) {
    const auto da = pair_.a().create_domain().value(), db = pair_.b().create_domain().value();
    channel_ = pair_.a().create_channel().value();
    cq_ = pair_.a().create_cq(64, channel_).value();
    other_ = pair_.b().create_cq(64).value();
    here_ = pair_.a().register_region(da, {bytes_of(source_), 16'384, kHere, kAll}).value();
    there_ = pair_.b().register_region(db, {bytes_of(target_), 16'384, kThere, kAll}).value();
    qa_ = pair_.a().create_qp(da, {.send_cq = cq_, .receive_cq = cq_}).value();
    qb_ = pair_.b().create_qp(db, {.send_cq = other_, .receive_cq = other_}).value();
    pair_.connect(*qa_, *qb_, kAll);
  }

  static host::DeviceConfig speaking(nic::Dialect dialect) {
    host::DeviceConfig config;
    config.dialect = dialect;
    return config;
  }
  static std::byte* bytes_of(std::vector<std::uint64_t>& words) {
    return std::as_writable_bytes(std::span(words)).data();
  }

  // One message from a to b and its completions; how many allocations it took.
  std::size_t exchange(WorkKind kind) {
    const std::uint32_t length = nic::is_atomic(kind) ? 8 : kBytes;
    const nic::Sge here{kHere, length, here_}, there{kThere, kBytes, there_};
    const host::WorkRequest request{
        .kind = kind, .sges = {&here, 1}, .remote_address = kThere, .remote_key = there_, .compare_add = 1};
    const std::size_t before = allocations;
    cq_->request_notify(false);
    const bool receives =
        kind == WorkKind::send || kind == WorkKind::send_immediate || kind == WorkKind::write_immediate;
    if (receives) {
      EXPECT_EQ(qb_->post_receive({.sges = {&there, 1}}), host::Error::none);
    }
    EXPECT_EQ(qa_->post_send(request), host::Error::none);
    nic::Completion done;
    done.status = nic::Status::fatal;
    std::uint32_t got = 0, received = 0;
    for (int round = 0; round < 20 && got == 0; ++round) {
      pair_.drive();
      nic::Completion ignored;
      received += other_->poll({&ignored, 1});
      got += cq_->poll({&done, 1});
    }
    EXPECT_EQ(got, 1U);
    EXPECT_EQ(done.status, nic::Status::success);
    EXPECT_EQ(received, receives ? 1U : 0U);
    EXPECT_EQ(pair_.a().next_completion_event(channel_), cq_);
    return allocations - before;
  }

  direct::Pair pair_;
  std::vector<std::uint64_t> source_ = std::vector<std::uint64_t>(2048), target_ = std::vector<std::uint64_t>(2048);
  std::uint32_t channel_ = 0;
  host::CompletionQueue *cq_ = nullptr, *other_ = nullptr;
  wire::Key here_{}, there_{};
  host::QueuePair *qa_ = nullptr, *qb_ = nullptr;
};

TEST_F(NoAllocation, OfTheCounterItself) {
  const std::size_t before = allocations;
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(allocations, before + 1);
}

TEST_F(NoAllocation, OnThePathOfAnyVerb) {
  for (const WorkKind kind : {WorkKind::send, WorkKind::send_immediate, WorkKind::write, WorkKind::write_immediate,
                              WorkKind::read, WorkKind::compare_swap, WorkKind::fetch_add}) {
    SCOPED_TRACE(static_cast<int>(kind));
    for (int i = 0; i < 100; ++i) ASSERT_EQ(exchange(kind), 0U) << "message " << i;
  }
}

class NoAllocationUnderLoss : public NoAllocation {
 protected:
  NoAllocationUnderLoss() : NoAllocation(nic::Dialect::srnic) {}
};

// A packet of the first of four messages is lost. Those that follow are out of order, the software keeps bitmaps, and
// the packet is sent again. Once that has been done, the next time allocates nothing.
TEST_F(NoAllocationUnderLoss, WhenARecoveryFollowsAnother) {
  const auto lose_one = [&] {
    const std::size_t before = allocations;
    const nic::Sge here{kHere, kBytes, here_};
    pair_.lose_next_of_a();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(
          qa_->post_send({.kind = WorkKind::write, .sges = {&here, 1}, .remote_address = kThere, .remote_key = there_}),
          host::Error::none);
    }
    std::uint32_t got = 0;
    for (int round = 0; round < 40 && got < 4; ++round) {
      pair_.drive();
      nic::Completion done;
      while (cq_->poll({&done, 1}) > 0) ++got;
    }
    EXPECT_EQ(got, 4U);
    return allocations - before;
  };
  (void)lose_one();
  ASSERT_EQ(pair_.a().card().counters.get(nic::Counter::retransmitted_pkts), 1U);
  ASSERT_EQ(pair_.b().card().counters.get(nic::Counter::recoveries_left), 1U);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(lose_one(), 0U) << "loss " << i;
}

}  // namespace
}  // namespace weft
