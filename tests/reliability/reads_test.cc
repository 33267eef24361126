// READs and atomics: how many are under way, what is asked for again, and what duplicates may not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bed.h"
#include "support/completions.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Dialect;
using nic::Status;
using nic::WorkKind;
using sim::Fault;
using testing::ElementsAre;

constexpr std::uint32_t kMtu = 256;

BedSpec with_script(std::vector<sim::ScriptedFault> script) {
  BedSpec spec;
  spec.link.faults.count_world = true;
  spec.link.faults.script = std::move(script);
  return spec;
}

Step read_step(std::uint64_t id, std::uint32_t bytes) {
  return {.id = id, .kind = WorkKind::read, .local = {{id * 4096, bytes}}, .remote = 8};
}

bool has_read(const Endpoint& a, const Endpoint& b, const Step& read) {
  return same_memory(a.node().bytes(read.local[0]), b.node().bytes({read.remote, read.length()}));
}

TEST(Read, AsksOnlyForWhatIsMissing) {
  // Eight responses; the request is packet 1, so response n is packet n + 1.
  constexpr std::uint64_t kResponses = 8;
  for (std::uint64_t lost = 1; lost <= kResponses; ++lost) {
    Bed bed(speaking(Dialect::roce, with_script({{Fault::drop, lost + 1}})));
    auto [a, b] = bed.connect({.mtu = kMtu});
    const Step read = read_step(1, kResponses * kMtu);
    a.post(read);
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
    EXPECT_TRUE(has_read(a, b, read));
    EXPECT_EQ(a.node().counted(Counter::sent_pkts), 2U) << "one request and one more";
    EXPECT_EQ(b.node().counted(Counter::sent_pkts), kResponses + (kResponses - lost + 1)) << "response " << lost;
    EXPECT_EQ(a.node().counted(Counter::local_ack_timeout_err), lost == kResponses ? 1U : 0U);
  }
}

TEST(Read, IsAskedForAgainOnceForManyLostResponses) {
  Bed bed(speaking(Dialect::roce, with_script({{Fault::drop, 2}, {Fault::drop, 3}, {Fault::drop, 4}})));
  auto [a, b] = bed.connect({.mtu = kMtu});
  a.post(read_step(1, 8 * kMtu));
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().counted(Counter::implied_nak_seq_err), 1U);
  EXPECT_EQ(a.node().counted(Counter::sent_pkts), 2U);
}

TEST(Read, NoMoreAreUnderWayThanThePeerCanHold) {
  for (std::uint8_t limit = 1; limit <= 4; ++limit) {
    Bed bed;
    auto [a, b] = bed.connect({.max_reads = limit, .max_peer_reads = limit});
    for (std::uint64_t id = 1; id <= 6; ++id) a.post(read_step(id, 64));
    bed.world().run_until(microseconds(1));  // no answer can have come yet
    EXPECT_EQ(a.node().counted(Counter::sent_pkts), limit);
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(ids(drain(a.node())), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(b.node().counted(Refusal::too_many_reads), 0U);
  }
}

TEST(Read, AsManyAreUnderWayAsThePeerCanHold) {
  Bed bed;
  auto [a, b] = bed.connect({.max_reads = 2, .max_peer_reads = 2});
  for (std::uint64_t id = 1; id <= 6; ++id) a.post(read_step(id, 64));
  ASSERT_TRUE(bed.run());
  const auto log = drain(a.node());
  ASSERT_EQ(log.size(), 6U);
  EXPECT_LT(log[5].when, 3 * log[0].when + nanoseconds(100)) << "two in each of three round trips";
}

TEST(Read, AtomicsCountAsReads) {
  Bed bed;
  auto [a, b] = bed.connect({.max_reads = 2, .max_peer_reads = 2});
  a.post(read_step(1, 64));
  for (std::uint64_t id = 2; id <= 4; ++id) {
    a.post({.id = id, .kind = WorkKind::fetch_add, .local = {{id * 64, 8}}, .compare_add = 1});
  }
  bed.world().run_until(microseconds(1));
  EXPECT_EQ(a.node().counted(Counter::sent_pkts), 2U);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(1, 2, 3, 4));
}

// The request of a READ or atomic that was sent first of all turns up once more.
void repeat_first_request(Bed& bed, const Endpoint& from, const Endpoint& to, const Step& step) {
  wire::Headers h;
  h.bth.opcode = step.kind == WorkKind::read           ? wire::Opcode::rc_read_request
                 : step.kind == WorkKind::compare_swap ? wire::Opcode::rc_compare_swap
                                                       : wire::Opcode::rc_fetch_add;
  h.bth.destination = to.qp().qpn();
  h.bth.psn = QpSpec{}.psn;
  const sim::Memory& there = to.node().arena;
  h.reth = {there.address + step.remote, there.key, step.length()};
  h.atomic = {there.address + step.remote, there.key, step.swap, step.compare_add};
  if (step.kind == WorkKind::fetch_add) h.atomic = {there.address + step.remote, there.key, step.compare_add, 0};
  wire::Flow flow;
  flow.source = from.node().host.address();
  flow.destination = to.node().host.address();
  bed.world().send(from.node().host.index(), bed.world().parcels().make(flow, h, std::uint32_t{0}));
}

// On a slow link, one packet at a time.
BedSpec slow() {
  BedSpec spec;
  spec.link.bits_per_second = 1'000'000'000;
  spec.card.burst_bytes = 1;
  return spec;
}

// The request turns up again when it has been answered, and is being answered once more when the next READ comes. The
// peer has one place for READs, but who asks for the next has had the first.
TEST(Read, AnsweredAgainDoesNotRefuseTheNext) {
  Bed bed(speaking(Dialect::roce, slow()));
  auto [a, b] = bed.connect({.mtu = 4096, .max_reads = 1, .max_peer_reads = 1});
  const Step first = read_step(1, 3 * 4096), next = read_step(4, 3 * 4096);  // each takes 100 us to answer
  a.post(first);
  a.post(next);
  bed.world().run_until(microseconds(90));
  repeat_first_request(bed, a, b, first);
  bed.world().run_until(microseconds(105));
  EXPECT_EQ(b.context().saved_pending, 1U) << "of the next; the first is no longer wanted";
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().counted(Counter::read_responses_resent), 1U);
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(4, Status::success)));
  EXPECT_TRUE(has_read(a, b, first) && has_read(a, b, next));
}

// A refusal of what was posted after a READ overtakes nothing: while the READ's answer is missing, it is the READ that
// is asked for again, and what comes of that is its own.
TEST(Read, WhoseAnswerIsLostIsNotBlamedForTheRefusalOfTheNext) {
  Bed bed(speaking(Dialect::roce, with_script({{Fault::drop, 3}})));  // the answer; the requests are packets 1 and 2
  auto [a, b] = bed.connect({.retry_count = 1});
  a.post(read_step(1, 64));
  a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 1 << 30});  // nowhere
  ASSERT_TRUE(bed.run());
  // The peer has broken off and answers no more.
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(IdAndStatus(1, Status::retry_exceeded), IdAndStatus(2, Status::flushed)));
}

TEST(Read, WhoseAnswerIsLostIsNotBlamedForAReceiverThatIsNotReady) {
  Bed bed(with_script({{Fault::drop, 3}}));
  auto [a, b] = bed.connect({.rnr_retry = 0});
  const Step read = read_step(1, 64);
  a.post(read);
  a.post({.id = 2, .kind = WorkKind::send, .local = {{0, 64}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::rnr_retry_exceeded)));
  EXPECT_TRUE(has_read(a, b, read));
}

class DuplicateInTheMiddle : public testing::TestWithParam<WorkKind> {};
TEST_P(DuplicateInTheMiddle, LeavesTheMessageUnderWayAlone) {
  for (const WorkKind message : {WorkKind::send, WorkKind::write}) {
    Bed bed(speaking(Dialect::roce, slow()));
    auto [a, b] = bed.connect({.mtu = kMtu});
    const std::uint64_t before = b.node().word(8);
    const Step first{.id = 1, .kind = GetParam(), .local = {{4096, 8}}, .remote = 8, .compare_add = before, .swap = 7};
    b.receive(9, {{8192, 1000}});
    a.post(first);
    a.post({.id = 2, .kind = message, .local = {{0, 700}}, .remote = 8192});
    bed.world().run_until(microseconds(2));  // the first of three packets is leaving
    repeat_first_request(bed, a, b, first);
    bed.world().run_until(microseconds(6));
    EXPECT_EQ(b.node().counted(Counter::duplicate_request), 1U);
    EXPECT_NE(b.context().inbound, nic::Inbound::none) << "in the middle";
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())),
                ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::success)));
    EXPECT_TRUE(std::ranges::equal(b.node().bytes({8192, 700}), a.node().bytes({0, 700})));
    EXPECT_EQ(a.node().word(4096), before);
    EXPECT_EQ(b.node().counted(Counter::read_responses_resent), 1U);
  }
}
INSTANTIATE_TEST_SUITE_P(EveryAnswer, DuplicateInTheMiddle,
                         testing::Values(WorkKind::read, WorkKind::compare_swap, WorkKind::fetch_add));

TEST(Atomic, IsNeverExecutedTwice) {
  // The answer, packet 2, is lost: the request comes again and is answered from what was saved.
  Bed bed(speaking(Dialect::roce, with_script({{Fault::drop, 2}})));
  auto [a, b] = bed.connect();
  const std::uint64_t before = b.node().word(64);
  a.post({.id = 1, .kind = WorkKind::fetch_add, .local = {{0, 8}}, .remote = 64, .compare_add = 5});
  bed.world().run_until(microseconds(10));
  EXPECT_EQ(b.node().word(64), before + 5);
  b.node().word(64) = 1;  // whatever happens to the word meanwhile, the answer is the one of then
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().word(0), before);
  EXPECT_EQ(b.node().word(64), 1U);
  EXPECT_EQ(b.node().counted(Counter::duplicate_request), 1U);
}

TEST(Atomic, EachOfAsManyAsAreUnderWayIsRemembered) {
  // Four answers, packets 5 to 8, are lost: all four come again, none is executed again.
  Bed bed(
      speaking(Dialect::roce, with_script({{Fault::drop, 5}, {Fault::drop, 6}, {Fault::drop, 7}, {Fault::drop, 8}})));
  auto [a, b] = bed.connect();
  const std::uint64_t before = b.node().word(64);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    a.post({.id = id, .kind = WorkKind::fetch_add, .local = {{id * 8, 8}}, .remote = 64, .compare_add = 1});
  }
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().counted(Counter::duplicate_request), 4U);
  EXPECT_EQ(b.node().word(64), before + 4);
  for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(a.node().word(id * 8), before + id - 1);
}

TEST(Fence, WaitsForReadsAndAtomicsBeforeIt) {
  for (const bool fenced : {false, true}) {
    Bed bed;
    auto [a, b] = bed.connect();
    b.receive(9, {{0, 100}});
    a.post(read_step(1, 64));
    a.post({.id = 2, .kind = WorkKind::fetch_add, .local = {{0, 8}}, .remote = 64, .compare_add = 1});
    a.post({.id = 3, .kind = WorkKind::send, .local = {{8192, 100}}, .fence = fenced});
    bed.world().run_until(microseconds(1));
    EXPECT_EQ(a.node().counted(Counter::sent_pkts), fenced ? 2U : 3U);
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(ids(drain(a.node())), ElementsAre(1, 2, 3));
  }
}

// What waits for READs before it, because of a fence or because there are too many, is not looked at again however
// often the doorbell rings: work entries are read from host memory. The last answer that it waits for gives it its
// turn.
TEST(Fence, WhatWaitsIsFetchedAgainOnlyWhenItsTurnHasCome) {
  for (const bool fenced : {true, false}) {
    Bed bed;
    auto [a, b] = bed.connect({.mtu = kMtu, .max_reads = 1});
    a.post(read_step(1, 15 * kMtu));
    a.post(fenced ? Step{.id = 2, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64, .fence = true}
                  : read_step(2, 64));
    bed.world().run_until(microseconds(1));
    ASSERT_TRUE(a.context().head_waits);
    const std::uint64_t fetched = a.node().counted(Counter::wqes_fetched);
    for (std::uint64_t id = 3; id <= 6; ++id) {
      a.post({.id = id, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64});
      bed.world().run_until(microseconds(1) + nanoseconds(static_cast<std::int64_t>(10 * id)));
    }
    EXPECT_TRUE(a.context().head_waits);
    EXPECT_EQ(a.node().counted(Counter::wqes_fetched), fetched);
    EXPECT_EQ(a.node().counted(Counter::sent_pkts), 1U);
    ASSERT_TRUE(bed.run());
    EXPECT_FALSE(a.context().head_waits);
    EXPECT_THAT(ids(drain(a.node())), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST(Fence, DoesNotWaitForWrites) {
  Bed bed;
  auto [a, b] = bed.connect();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    a.post({.id = id, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64, .fence = true});
  }
  bed.world().run_until(microseconds(1));
  EXPECT_EQ(a.node().counted(Counter::sent_pkts), 3U);
  ASSERT_TRUE(bed.run());
}

TEST(Fence, LetsWhatWasReadBeSentOn) {
  Bed bed;
  auto [a, b] = bed.connect();
  b.receive(9, {{8192, 64}});
  a.post(read_step(1, 64));
  a.post({.id = 2, .kind = WorkKind::send, .local = {{4096, 64}}, .fence = true});
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(std::ranges::equal(b.node().bytes({8192, 64}), b.node().bytes({8, 64})));
}

}  // namespace
}  // namespace weft::test
