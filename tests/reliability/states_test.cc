// Queue pairs that stop: draining the send queue, flushing after an error, and the send queue error of unreliable ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bed.h"
#include "support/completions.h"

namespace weft::test {
namespace {

using host::Error;
using host::QpMask;
using nic::Counter;
using nic::EventKind;
using nic::QpState;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kPathMtu = 256;

Error start_draining(const Endpoint& at) {
  host::QpAttributes a;
  a.state = QpState::sqd;
  a.drain_notify = true;
  return at.node().host.modify(at.qp(), a, QpMask::state | QpMask::drain_notify);
}

std::vector<EventKind> event_kinds(const Node& node) {
  std::vector<EventKind> kinds;
  for (const nic::HostEvent& e : drain_events(node)) kinds.push_back(e.kind);
  return kinds;
}

Step write_step(std::uint64_t id, std::uint32_t bytes = 64) {
  return {.id = id, .kind = WorkKind::write, .local = {{0, bytes}}, .remote = 32 * 1024};
}

TEST(Draining, FinishesWhatWasBegunAndNothingElse) {
  BedSpec spec;
  spec.card.window_packets = 4;
  Bed bed(spec);
  auto [a, b] = bed.connect({.mtu = kPathMtu});
  a.post(write_step(1, 10 * kPathMtu));
  a.post(write_step(2));
  bed.world().run_until(microseconds(1));  // in the middle of the first
  ASSERT_EQ(start_draining(a), Error::none);
  a.post(write_step(3));
  EXPECT_TRUE(a.qp().query().draining);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(1));
  EXPECT_THAT(event_kinds(a.node()), ElementsAre(EventKind::sq_drained));
  EXPECT_FALSE(a.qp().query().draining);
  ASSERT_EQ(a.go_to(QpState::rts), Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(2, 3));
}

TEST(Draining, OfAnIdleQueuePairIsOverAtOnce) {
  Bed bed;
  auto [a, b] = bed.connect();
  ASSERT_EQ(start_draining(a), Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(event_kinds(a.node()), ElementsAre(EventKind::sq_drained));
}

TEST(Draining, StillAnswersThePeer) {
  Bed bed;
  auto [a, b] = bed.connect();
  ASSERT_EQ(start_draining(a), Error::none);
  b.post({.id = 1, .kind = WorkKind::read, .local = {{0, 64}}, .remote = 64});
  b.post(write_step(2));
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(b.node())), ElementsAre(1, 2));
}

// While a message is sent again it is not over, though nothing is left that was never sent.
TEST(Draining, WaitsForAReceiverThatIsNotReady) {
  Bed bed;
  auto [a, b] = bed.connect({.min_rnr_timer = 10});
  a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 64}}});
  bed.world().run_until(microseconds(1));
  ASSERT_EQ(start_draining(a), Error::none);
  bed.world().run_until(microseconds(50));  // it has been refused once
  EXPECT_EQ(a.node().counted(Counter::rcvd_rnr_err), 1U);
  EXPECT_THAT(event_kinds(a.node()), IsEmpty());
  EXPECT_TRUE(a.qp().query().draining);
  b.receive(9, {{0, 64}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(1));
  EXPECT_THAT(event_kinds(a.node()), ElementsAre(EventKind::sq_drained));
}

TEST(Draining, WaitsForWhatWasLost) {
  for (std::uint64_t lost = 1; lost <= 4; ++lost) {  // three packets of a WRITE, then its acknowledgement
    BedSpec spec;
    spec.link.faults = {.count_world = true, .script = {{sim::Fault::drop, lost}}};
    Bed bed(spec);
    auto [a, b] = bed.connect({.mtu = kPathMtu});
    a.post(write_step(1, 3 * kPathMtu));
    bed.world().run_until(nanoseconds(500));
    ASSERT_EQ(start_draining(a), Error::none);
    Time told = 0;
    while (bed.world().run_until_idle(kNever, 1) == sim::Stop::event_limit) {
      if (!event_kinds(a.node()).empty()) told = bed.now();
    }
    const auto log = drain(a.node());
    ASSERT_THAT(ids(log), ElementsAre(1));
    EXPECT_EQ(told, log[0].when) << "packet " << lost;
  }
}

TEST(Flushing, GivesEverythingBackInOrder) {
  Bed bed;
  auto [a, b] = bed.connect();
  for (std::uint64_t id = 1; id <= 3; ++id) a.receive(id, {{0, 64}});
  for (std::uint64_t id = 11; id <= 14; ++id) {
    Step step = write_step(id);
    step.signaled = id % 2 == 0;
    a.post(step);
  }
  ASSERT_EQ(a.go_to(QpState::error), Error::none);
  ASSERT_TRUE(bed.run());
  const auto flushed = [](std::uint64_t id) { return IdAndStatus(id, Status::flushed); };
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(flushed(11), flushed(12), flushed(13), flushed(14), flushed(1), flushed(2), flushed(3)));
  a.post(write_step(15));
  a.receive(4, {{0, 64}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(flushed(15), flushed(4)));
  EXPECT_EQ(b.node().counted(Counter::rcvd_pkts), 0U);
}

TEST(Flushing, FollowsTheFirstErrorAndOnlyThat) {
  Bed bed;
  auto [a, b] = bed.connect();
  a.post(write_step(1));
  a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 1 << 30});
  a.post(write_step(3));
  a.post({.id = 4, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 1 << 30});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::remote_access),
                          IdAndStatus(3, Status::flushed), IdAndStatus(4, Status::flushed)));
  EXPECT_EQ(b.qp().state(), QpState::error);
  EXPECT_THAT(event_kinds(b.node()), ElementsAre(EventKind::qp_access_error));
}

TEST(Draining, OfDatagramsIsToldOf) {
  Bed bed;
  auto [a, b] = bed.connect({.service = wire::Service::ud});
  ASSERT_EQ(start_draining(a), Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(event_kinds(a.node()), ElementsAre(EventKind::sq_drained));
  EXPECT_FALSE(a.qp().query().draining);
}

Error change_peer_reads(const Endpoint& at, std::uint8_t reads) {
  host::QpAttributes a;
  a.state = QpState::sqd;
  a.max_peer_reads = reads;
  return at.node().host.modify(at.qp(), a, QpMask::state | QpMask::max_peer_reads);
}

// One that drains its send queue may be told to answer more at a time, or less. The peer hears nothing of that: what it
// has asked for is answered, and an atomic that it asks for again is not carried out again.
TEST(Draining, KeepsWhatThePeerHasAskedFor) {
  for (const std::uint8_t reads : {2, 3, 8}) {
    for (std::uint64_t lost = 1; lost <= 12; ++lost) {
      SCOPED_TRACE(testing::Message() << int{reads} << " at a time, packet " << lost << " lost");
      BedSpec spec;
      spec.link.faults.script.push_back({sim::Fault::drop, lost});
      spec.link.faults.count_world = true;
      Bed bed(spec);
      auto [a, b] = bed.connect({.mtu = kPathMtu, .max_reads = 2});
      const std::uint64_t before = b.node().word(0);
      a.post({.id = 1, .kind = WorkKind::fetch_add, .local = {{8192, 8}}, .compare_add = 1});
      a.post({.id = 2, .kind = WorkKind::read, .local = {{16384, 8 * kPathMtu}}, .remote = 4096});
      bed.world().run_until(nanoseconds(2500));  // in the middle of the answers
      ASSERT_EQ(b.go_to(QpState::sqd), Error::none);
      ASSERT_EQ(change_peer_reads(b, reads), Error::none);
      ASSERT_TRUE(bed.run());
      EXPECT_THAT(results(drain(a.node())),
                  ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::success)));
      EXPECT_EQ(b.node().word(0), before + 1);
    }
  }
}

class SendQueueError : public testing::TestWithParam<wire::Service> {};
TEST_P(SendQueueError, StopsSendingAndCanBeMended) {
  Bed bed;
  auto [a, b] = bed.connect({.service = GetParam(), .mtu = kPathMtu});
  for (std::uint64_t id = 1; id <= 3; ++id) b.receive(id, {{id * 256, 200}});
  const auto send = [&a = a](std::uint64_t id, std::uint64_t from) {
    a.post({.id = id, .kind = WorkKind::send, .local = {{from, 64}}});
  };
  send(1, 0);
  send(2, 1 << 20);  // not in our arena
  send(3, 0);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.qp().state(), QpState::sqe);
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::local_protection),
                          IdAndStatus(3, Status::flushed)));
  ASSERT_EQ(a.go_to(QpState::rts), Error::none);
  send(4, 64);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(4, Status::success)));
  EXPECT_THAT(ids(drain(b.node())), ElementsAre(1, 2));
}
INSTANTIATE_TEST_SUITE_P(Unreliable, SendQueueError, testing::Values(wire::Service::uc, wire::Service::ud));

TEST(Resetting, MakesTheQueuePairNew) {
  Bed bed;
  auto [a, b] = bed.connect();
  a.receive(1, {{0, 64}});
  a.post(write_step(2));
  for (const Endpoint& end : {a, b}) ASSERT_EQ(end.go_to(QpState::reset), Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(drain(a.node()), IsEmpty());
  auto [again_a, again_b] = connect(a.node(), a.qp(), b.node(), b.qp(), {.psn = wire::Psn(7)}, {.psn = wire::Psn(9)});
  again_a.post(write_step(3));
  again_b.post(write_step(4));
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(3));
  EXPECT_THAT(ids(drain(b.node())), ElementsAre(4));
}

}  // namespace
}  // namespace weft::test
