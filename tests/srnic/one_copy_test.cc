// Bursts whose payload stays in the sender's memory until the receiver places it. The program may use its memory again
// when its work has ended, well or not: nothing of what it writes then may arrive.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;

constexpr std::uint32_t kOneCopy = 6 * kMtu, kLent = 10 * kMtu - 24;  // of ten packets: bursts of six and of four
constexpr std::uint64_t kApart = 4096;                                // each message has a place of its own
constexpr WorkKind kLentKinds[] = {WorkKind::send, WorkKind::write_immediate, WorkKind::read, WorkKind::write};

BedSpec lending(sim::FaultPlan faults = {}) {
  constexpr std::uint64_t kNever = 1'000'000;
  faults.script.push_back({sim::Fault::drop, kNever});  // with a plan, what travels is counted
  BedSpec spec = srnic_bed(std::move(faults));
  spec.burst_bytes = 2 * kMtu;
  spec.one_copy_bytes = kOneCopy;
  return spec;
}

std::vector<std::byte> copy_of(const Node& node, Piece piece) {
  const std::span<std::byte> bytes = node.bytes(piece);
  return {bytes.begin(), bytes.end()};
}

// A program that uses its memory again as soon as it may. The source of a READ is the peer's.
sim::Task<> reuse(Endpoint a, Endpoint b, std::vector<nic::Completion>& sent) {
  for (;;) {
    sent.push_back(co_await a.node().host.completion(*a.node().cq));
    const std::uint64_t i = sent.back().id;
    const Node& source = kLentKinds[i] == WorkKind::read ? b.node() : a.node();
    fill(source.bytes({i * kApart, kLent}), 77 + i);
  }
}

struct LentOutcome {
  std::uint64_t travelled = 0, fetched = 0;
};
LentOutcome exchange_lent(const BedSpec& spec) {
  Bed bed(spec);
  const auto [a, b] = bed.connect({.mtu = kMtu});
  b.receive(100, {{0, 1000}, {1000, kLent - 1000}});
  b.receive(101, {});
  std::vector<std::vector<std::byte>> wanted;
  for (std::uint64_t i = 0; i < std::size(kLentKinds); ++i) {
    wanted.push_back(copy_of((kLentKinds[i] == WorkKind::read ? b : a).node(), {i * kApart, kLent}));
    EXPECT_EQ(a.post({.id = i, .kind = kLentKinds[i], .local = {{i * kApart, kLent}}, .remote = i * kApart}),
              host::Error::none);
  }
  std::vector<nic::Completion> sent;
  bed.world().tasks().spawn(reuse(a, b, sent));
  EXPECT_TRUE(bed.run());
  EXPECT_THAT(ids(sent), testing::ElementsAre(0, 1, 2, 3));
  for (const nic::Completion& c : sent) EXPECT_EQ(c.status, Status::success) << c.id;
  EXPECT_THAT(ids(drain(b.node())), testing::ElementsAre(100, 101));
  for (std::uint64_t i = 0; i < std::size(kLentKinds); ++i) {
    EXPECT_EQ(copy_of((kLentKinds[i] == WorkKind::read ? a : b).node(), {i * kApart, kLent}), wanted[i]) << i;
  }
  expect_nothing_held(bed);
  return {.travelled = bed.world().fault_counters().offered,
          .fetched = a.node().counted(Counter::one_copy_fetches) + b.node().counted(Counter::one_copy_fetches)};
}

TEST(FarBursts, AreFetchedWhenTheyArePlaced) {
  // Each message in two; the first part of the SEND into two pieces of its receive.
  EXPECT_EQ(exchange_lent(lending()).fetched, 4U * 2 + 1);
  BedSpec near = lending();
  near.one_copy_bytes = 0;
  EXPECT_EQ(exchange_lent(near).fetched, 0U);
}

// Whatever befalls any one of them.
class OneFarFault : public testing::TestWithParam<sim::Fault> {};
TEST_P(OneFarFault, IsMendedWithTheRightBytes) {
  const std::uint64_t all = exchange_lent(lending()).travelled;
  ASSERT_GE(all, 8U);
  for (std::uint64_t nth = 1; nth <= all; ++nth) {
    SCOPED_TRACE(nth);
    sim::FaultPlan plan;
    plan.script.push_back({GetParam(), nth});
    exchange_lent(lending(plan));
  }
}
INSTANTIATE_TEST_SUITE_P(Faults, OneFarFault,
                         testing::Values(sim::Fault::drop, sim::Fault::duplicate, sim::Fault::delay,
                                         sim::Fault::corrupt));

// A SEND of one burst is under way when its sender's program gets its memory back, and writes to it.
struct Ending : testing::Test {
  static constexpr std::uint32_t kShort = 4 * kMtu;
  Bed bed{lending()};
  Connection c = bed.connect({.mtu = kMtu, .ack_timeout = 1, .retry_count = 1});

  void SetUp() override {
    ASSERT_EQ(c.b.receive(2, {{0, kShort}}), host::Error::none);
    ASSERT_EQ(c.a.post({.id = 1, .local = {{0, kShort}}}), host::Error::none);
    ASSERT_FALSE(bed.run(nanoseconds(500)));  // half of the way
  }
  void expect_that_it_never_arrives() {
    fill(c.a.node().bytes({0, kShort}), 99);
    (void)bed.run();
    EXPECT_EQ(c.b.node().counted(Refusal::payload_gone), 1U);
    for (const nic::Completion& done : drain(c.b.node())) EXPECT_NE(done.status, Status::success);
  }
};

TEST_F(Ending, ByAnErrorRecallsWhatIsUnderWay) {
  ASSERT_EQ(c.a.go_to(nic::QpState::error), host::Error::none);
  ASSERT_FALSE(bed.run(bed.now() + 1));
  EXPECT_EQ(results(drain(c.a.node())).at(0), IdAndStatus(1, Status::flushed));
  expect_that_it_never_arrives();
}
TEST_F(Ending, ByAResetRecallsWhatIsUnderWay) {
  ASSERT_EQ(c.a.go_to(nic::QpState::reset), host::Error::none);
  expect_that_it_never_arrives();
}
TEST_F(Ending, OfTheQueuePairRecallsWhatIsUnderWay) {
  ASSERT_EQ(c.a.node().device().destroy(&c.a.qp()), host::Error::none);
  expect_that_it_never_arrives();
}
TEST_F(Ending, OfTheRegionRecallsWhatIsUnderWay) {
  ASSERT_EQ(c.a.node().device().deregister_region(c.a.node().arena.key), host::Error::none);
  expect_that_it_never_arrives();
  // It was to be sent again, and the memory was gone.
  EXPECT_EQ(results(drain(c.a.node())).at(0), IdAndStatus(1, Status::local_protection));
}

// What is revoked and still wanted is sent again.
TEST(FarBursts, ThatAreRecalledForAnothersSakeArriveAfterAll) {
  Bed bed(lending());
  const auto [a, b] = bed.connect({.mtu = kMtu});
  const sim::Memory other = a.node().host.allocate(a.node().domain, 4096, kEveryRight);
  ASSERT_EQ(a.post({.id = 1, .kind = WorkKind::write, .local = {{0, kLent}}, .remote = 0}), host::Error::none);
  ASSERT_FALSE(bed.run(nanoseconds(500)));
  ASSERT_EQ(a.node().device().deregister_region(other.key), host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_GE(b.node().counted(Refusal::payload_gone), 1U);
  EXPECT_EQ(results(drain(a.node())).at(0), IdAndStatus(1, Status::success));
  EXPECT_TRUE(same_bytes(a, {0, kLent}, b, {0, kLent}));
}

}  // namespace
}  // namespace weft::test
