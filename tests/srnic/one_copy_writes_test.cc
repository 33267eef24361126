// Exported payloads of WRITEs that came together are fetched with one call. Nobody can tell by what lies in memory.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;

constexpr std::uint32_t kWritten = 4 * kMtu - 8;  // one burst whose payload stays
constexpr std::uint64_t kWritesApart = 4 * kMtu, kCount = 6, kThere = 32 * 1024;

BedSpec looking_after(Time delay, sim::FaultPlan faults = {}) {
  constexpr std::uint64_t kNever = 1'000'000;
  faults.script.push_back({sim::Fault::drop, kNever});  // with a plan, what travels is counted
  BedSpec spec = srnic_bed(std::move(faults));
  spec.burst_bytes = 2 * kMtu;
  spec.one_copy_bytes = 4 * kMtu;
  spec.look_after = delay;
  return spec;
}

Piece from(std::uint64_t i) { return {i * kWritesApart, kWritten}; }
Piece to(std::uint64_t i) { return {kThere + i * kWritesApart, kWritten}; }
Step write_of(std::uint64_t i) {
  return {.id = i, .kind = WorkKind::write, .local = {from(i)}, .remote = kThere + i * kWritesApart};
}

std::uint64_t write_all(Bed& bed) {
  const auto [a, b] = bed.connect({.mtu = kMtu});
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_EQ(a.post(write_of(i)), host::Error::none);
  EXPECT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(a.node())), testing::ElementsAre(0, 1, 2, 3, 4, 5));
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_TRUE(same_bytes(a, from(i), b, to(i))) << i;
  expect_nothing_held(bed);
  return b.node().counted(Counter::one_copy_calls);
}

TEST(OneCopyWrites, ThatCameTogetherAreFetchedTogether) {
  Bed alone(looking_after(0));
  EXPECT_EQ(write_all(alone), kCount);
  Bed together(looking_after(microseconds(2)));
  EXPECT_EQ(write_all(together), 2U) << "four, and then the rest";
  EXPECT_EQ(together.nodes()[1].counted(Counter::one_copy_fetches), kCount);
}

class OneFaultAmongFarWrites : public testing::TestWithParam<sim::Fault> {};
TEST_P(OneFaultAmongFarWrites, IsMendedWithTheRightBytes) {
  Bed quiet(looking_after(microseconds(2)));
  write_all(quiet);
  const std::uint64_t all = quiet.world().fault_counters().offered;
  ASSERT_GE(all, kCount);
  for (std::uint64_t nth = 1; nth <= all; ++nth) {
    SCOPED_TRACE(nth);
    sim::FaultPlan plan;
    plan.script.push_back({GetParam(), nth});
    Bed bed(looking_after(microseconds(2), plan));
    write_all(bed);
  }
}
INSTANTIATE_TEST_SUITE_P(Faults, OneFaultAmongFarWrites,
                         testing::Values(sim::Fault::drop, sim::Fault::duplicate, sim::Fault::delay,
                                         sim::Fault::corrupt));

// Those behind one that is refused are not to be seen.
TEST(OneCopyWrites, ArePlacedUpToTheFirstThatIsNotAllowed) {
  Bed bed(looking_after(microseconds(2)));
  const auto [a, b] = bed.connect({.mtu = kMtu});
  const sim::Memory closed = b.node().host.allocate(b.node().domain, kWritesApart, nic::Rights::remote_read);
  const std::vector<std::byte> before(b.node().bytes(to(3)).begin(), b.node().bytes(to(3)).end());
  for (std::uint64_t i = 0; i < 4; ++i) {
    Step step = write_of(i);
    if (i == 2) step.remote_key = closed.key;
    ASSERT_EQ(a.post(step), host::Error::none);
  }
  (void)bed.run();
  EXPECT_THAT(results(drain(a.node())),
              testing::ElementsAre(IdAndStatus(0, Status::success), IdAndStatus(1, Status::success),
                                   IdAndStatus(2, Status::remote_access), IdAndStatus(3, Status::flushed)));
  for (std::uint64_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bytes(a, from(i), b, to(i))) << i;
  EXPECT_TRUE(std::ranges::equal(b.node().bytes(to(3)), before));
  EXPECT_EQ(b.node().counted(Counter::one_copy_fetches), 2U);
}

// What a completion tells of is there when it is told; what comes behind it may be, too.
TEST(OneCopyWrites, WithACompletionComeInTheirTurn) {
  Bed bed(looking_after(microseconds(2)));
  const auto [a, b] = bed.connect({.mtu = kMtu});
  ASSERT_EQ(b.receive(100, {}), host::Error::none);
  for (std::uint64_t i = 0; i < 4; ++i) {
    Step step = write_of(i);
    if (i == 1) step.kind = WorkKind::write_immediate;
    ASSERT_EQ(a.post(step), host::Error::none);
  }
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(b.node())), testing::ElementsAre(100));
  EXPECT_THAT(ids(drain(a.node())), testing::ElementsAre(0, 1, 2, 3));
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(same_bytes(a, from(i), b, to(i))) << i;
  EXPECT_EQ(b.node().counted(Counter::one_copy_calls), 2U) << "one, and the others";
}

TEST(OneCopyWrites, OfTwoConnectionsAreFetchedApart) {
  Bed bed(looking_after(microseconds(2)));
  const auto first = bed.connect({.mtu = kMtu}), second = bed.connect({.mtu = kMtu});
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ((i % 2 == 0 ? first : second).a.post(write_of(i)), host::Error::none);
  }
  ASSERT_TRUE(bed.run());
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(same_bytes(first.a, from(i), first.b, to(i))) << i;
  EXPECT_GE(first.b.node().counted(Counter::one_copy_calls), 2U);
}

// The program gets its memory back before the receiver has looked.
TEST(OneCopyWrites, ThatAreRecalledAreSentAgain) {
  Bed bed(looking_after(microseconds(2)));
  const auto [a, b] = bed.connect({.mtu = kMtu});
  const sim::Memory other = a.node().host.allocate(a.node().domain, 4096, kEveryRight);
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(a.post(write_of(i)), host::Error::none);
  ASSERT_FALSE(bed.run(microseconds(2)));
  ASSERT_EQ(a.node().device().deregister_region(other.key), host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_GE(b.node().counted(Refusal::payload_gone), 1U);
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_TRUE(same_bytes(a, from(i), b, to(i))) << i;
}

}  // namespace
}  // namespace weft::test
