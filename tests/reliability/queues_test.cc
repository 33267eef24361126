// Completion queues and shared receive queues: events, moderation, solicited notification, resizing, overflow, limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bed.h"
#include "support/completions.h"

namespace weft::test {
namespace {

using host::CompletionQueue;
using host::Error;
using nic::EventKind;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;
using testing::IsEmpty;

// A connection whose receiver has a completion queue with a channel, and a note of when each event came.
class Notification : public testing::Test {
 protected:
  Notification() {
    Node& at = bed.node(1);
    channel = *at.device().create_channel();
    cq = *at.device().create_cq(64, channel);
    QpSpec receiver;
    receiver.receive_cq = cq;
    connection.emplace(bed.connect({}, receiver));
    for (std::uint64_t i = 0; i < 32; ++i) connection->b.receive(i, {{i * 64, 64}});
    bed.world().tasks().spawn(watch());
  }
  sim::Task<> watch() {
    for (;;) {
      co_await bed.node(1).host.completion_event(channel);
      events.push_back(bed.now());
    }
  }
  void send(int messages, bool solicited = false) {
    for (; messages > 0; --messages) {
      connection->a.post({.kind = WorkKind::send, .local = {{0, 64}}, .solicited = solicited});
    }
    EXPECT_TRUE(bed.run());
  }
  // When the completions that wait became visible.
  std::vector<Time> arrivals() {
    return each(drain(*cq), [](const nic::Completion& c) { return c.when; });
  }

  Bed bed;
  std::uint32_t channel = 0;
  CompletionQueue* cq = nullptr;
  std::optional<Connection> connection;
  std::vector<Time> events;
};

TEST_F(Notification, ComesOnceForEachRequest) {
  send(2);
  EXPECT_THAT(events, IsEmpty());
  arrivals();
  cq->request_notify(false);
  send(3);
  EXPECT_THAT(events, ElementsAre(arrivals().at(0)));
  send(1);
  EXPECT_EQ(events.size(), 1U);
  cq->request_notify(false);
  send(1);
  EXPECT_EQ(events.size(), 2U);
}

TEST_F(Notification, OfSolicitedOnlyWaitsForOne) {
  cq->request_notify(true);
  send(3);
  EXPECT_THAT(events, IsEmpty());
  send(1, true);
  EXPECT_THAT(events, ElementsAre(arrivals().at(3)));
}

TEST_F(Notification, OfSolicitedOnlyTellsOfErrorsToo) {
  cq->request_notify(true);
  EXPECT_EQ(connection->b.go_to(nic::QpState::error), Error::none);
  EXPECT_TRUE(bed.run());
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(Notification, ForAnyIsNotWeakenedByARequestForSolicitedOnly) {
  cq->request_notify(false);
  cq->request_notify(true);
  send(1);
  EXPECT_EQ(events.size(), 1U);
}

TEST_F(Notification, ModeratedComesAfterSoMany) {
  EXPECT_EQ(cq->moderate(4, microseconds(500)), Error::none);
  cq->request_notify(false);
  send(6);
  EXPECT_THAT(events, ElementsAre(arrivals().at(3)));
}

TEST_F(Notification, ModeratedComesSoLongAfterTheFirst) {
  EXPECT_EQ(cq->moderate(4, microseconds(500)), Error::none);
  cq->request_notify(false);
  send(3);
  EXPECT_THAT(events, ElementsAre(arrivals().at(0) + microseconds(500)));
  send(4);
  EXPECT_EQ(events.size(), 1U) << "not armed again";
  cq->request_notify(false);
  send(1);
  EXPECT_THAT(events, ElementsAre(testing::_, arrivals().back() + microseconds(500)));
}

TEST_F(Notification, ModerationWithoutAPeriodIsRefused) {
  EXPECT_EQ(cq->moderate(4, 0), Error::invalid_argument);  // the last few would never be told
  EXPECT_EQ(cq->moderate(1, 0), Error::none);
}

TEST_F(Notification, SurvivesResizing) {
  send(5);
  EXPECT_EQ(cq->resize(4), Error::invalid_argument) << "five wait";
  EXPECT_EQ(cq->resize(5), Error::none);
  EXPECT_EQ(cq->capacity(), 8U);
  cq->request_notify(false);
  send(3);
  EXPECT_EQ(events.size(), 1U);
  EXPECT_EQ(cq->resize(256), Error::none);
  send(8);
  EXPECT_THAT(ids(drain(*cq)), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_FALSE(cq->overflowed());
}

TEST(CompletionQueue, ThatOverflowsBreaksItsQueuePairs) {
  Bed bed;
  Node& at = bed.node(0);
  CompletionQueue* small = *at.device().create_cq(4);
  QpSpec sender;
  sender.send_cq = small;
  auto [a, b] = bed.connect(sender, {});
  a.receive(77, {{0, 64}});
  for (std::uint64_t id = 1; id <= 6; ++id)
    a.post({.id = id, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64});
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(small->overflowed());
  EXPECT_THAT(ids(drain(*small)), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(a.qp().state(), nic::QpState::error);
  std::vector<EventKind> kinds;
  for (const nic::HostEvent& e : drain_events(at)) kinds.push_back(e.kind);
  EXPECT_THAT(kinds, ElementsAre(EventKind::cq_error, EventKind::qp_fatal));
  // The receive has a queue that can still tell of it.
  EXPECT_THAT(results(drain(at)), ElementsAre(IdAndStatus(77, Status::flushed)));
}

TEST(CompletionQueue, UnsignalledWorkIsSilent) {
  Bed bed;
  auto [a, b] = bed.connect({.limits = {.send_entries = 4}});
  for (std::uint64_t id = 1; id <= 12; ++id) {
    const Step step{.id = id, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64, .signaled = id % 4 == 0};
    ASSERT_EQ(a.post(step), Error::none);
    ASSERT_TRUE(bed.run());
  }
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(4, 8, 12));
}

TEST(CompletionQueue, UnsignalledWorkTellsOfItsFailure) {
  Bed bed;
  auto [a, b] = bed.connect();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const std::uint64_t there = id == 2 ? 1 << 30 : 64;  // not in the peer's arena
    a.post({.id = id, .kind = WorkKind::write, .local = {{0, 64}}, .remote = there, .signaled = false});
  }
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())),
              ElementsAre(IdAndStatus(2, Status::remote_access), IdAndStatus(3, Status::flushed)));
}

TEST(CompletionQueue, SignalsEverythingWhenTheQueuePairSaysSo) {
  Bed bed;
  auto [a, b] = bed.connect({.signal_all = true});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64, .signaled = false});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(a.node())), ElementsAre(1));
}

TEST(Receive, ThatIsMissingIsCounted) {
  for (const wire::Service service : {wire::Service::rc, wire::Service::uc, wire::Service::ud}) {
    Bed bed;
    auto [a, b] = bed.connect({.service = service, .rnr_retry = 0});
    a.post({.id = 1, .kind = WorkKind::send, .local = {{0, 64}}});
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(b.node().counted(nic::Counter::out_of_buffer), 1U);
    EXPECT_EQ(b.node().counted(Refusal::no_receive), 1U);
  }
}

// Two connections whose receivers share a queue.
class SharedReceives : public testing::Test {
 protected:
  SharedReceives() {
    Node& at = bed.node(1);
    srq = *at.device().create_srq(at.domain, 8, 1);
    QpSpec receiver;
    receiver.srq = srq;
    for (int i = 0; i < 2; ++i) connections.push_back(bed.connect({}, receiver));
  }
  void post(int receives) {
    for (; receives > 0; --receives, ++posted)
      ASSERT_EQ(connections[0].b.receive(posted, {{posted * 64, 64}}), Error::none);
  }
  void send(std::size_t connection) {
    connections[connection].a.post({.kind = WorkKind::send, .local = {{0, 64}}});
    EXPECT_TRUE(bed.run());
  }
  std::vector<EventKind> events() {
    std::vector<EventKind> kinds;
    for (const nic::HostEvent& e : drain_events(bed.node(1))) kinds.push_back(e.kind);
    return kinds;
  }

  Bed bed;
  host::SharedReceiveQueue* srq = nullptr;
  std::vector<Connection> connections;
  std::uint64_t posted = 0;
};

TEST_F(SharedReceives, GoToWhoeverNeedsOneInOrderOfPosting) {
  post(4);
  for (const std::size_t connection : {1U, 0U, 0U, 1U}) send(connection);
  const auto log = drain(bed.node(1));
  EXPECT_THAT(ids(log), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(each(log, [](const nic::Completion& c) { return c.qpn.raw(); }),
              ElementsAre(connections[1].b.qp().qpn().raw(), connections[0].b.qp().qpn().raw(),
                          connections[0].b.qp().qpn().raw(), connections[1].b.qp().qpn().raw()));
}

TEST_F(SharedReceives, TellOnceWhenFewAreLeft) {
  post(5);
  EXPECT_EQ(srq->set_limit(3), Error::none);
  send(0);
  send(1);  // three are left
  EXPECT_THAT(events(), IsEmpty());
  send(0);  // two
  EXPECT_THAT(events(), ElementsAre(EventKind::srq_limit_reached));
  EXPECT_EQ(srq->limit(), 0U) << "disarmed";
  send(1);
  EXPECT_THAT(events(), IsEmpty());
  post(3);
  EXPECT_EQ(srq->set_limit(4), Error::none);
  send(0);
  EXPECT_THAT(events(), ElementsAre(EventKind::srq_limit_reached));
}

TEST_F(SharedReceives, AreFreeAgainWhenTheirCompletionsAreTaken) {
  post(8);
  EXPECT_EQ(connections[0].b.receive(99, {{0, 64}}), Error::queue_full);
  for (int i = 0; i < 8; ++i) send(static_cast<std::size_t>(i % 2));
  EXPECT_EQ(connections[0].b.receive(99, {{0, 64}}), Error::queue_full) << "completions not taken yet";
  EXPECT_EQ(drain(bed.node(1)).size(), 8U);
  post(8);
  EXPECT_EQ(connections[0].b.receive(99, {{0, 64}}), Error::queue_full);
}

TEST_F(SharedReceives, AreNotLostToDatagramsThatDoNotFit) {
  QpSpec spec{.service = wire::Service::ud};
  QpSpec receiver = spec;
  receiver.srq = srq;
  auto [a, b] = bed.connect(spec, receiver);
  post(2);                                                        // of 64 bytes, 40 of them for the GRH
  for (const std::uint32_t bytes : {25U, 100U, 25U, 24U, 24U}) {  // the last two fit
    a.post({.kind = WorkKind::send, .local = {{0, bytes}}});
  }
  EXPECT_TRUE(bed.run());
  EXPECT_THAT(ids(drain(bed.node(1))), ElementsAre(0, 1));
  EXPECT_EQ(bed.node(1).counted(Refusal::receive_too_small), 3U);
}

TEST_F(SharedReceives, StayWhenAQueuePairBreaks) {
  post(3);
  EXPECT_EQ(connections[0].b.go_to(nic::QpState::error), Error::none);
  EXPECT_TRUE(bed.run());
  EXPECT_THAT(events(), ElementsAre(EventKind::last_entry_reached));
  EXPECT_THAT(drain(bed.node(1)), IsEmpty());
  send(1);
  EXPECT_THAT(ids(drain(bed.node(1))), ElementsAre(0));
}

TEST(Domains, AreAsManyAsQueuePairsHaveNumbersFor) {
  Bed bed;
  host::Device& device = bed.node(0).device();
  host::Domain last = 0;
  for (std::uint32_t i = 1; i < host::kMaxDomains; ++i) last = device.create_domain().value();
  EXPECT_EQ(device.create_domain().error(), Error::table_full);
  EXPECT_EQ(device.destroy_domain(last), Error::none);
  EXPECT_EQ(device.create_domain().value(), last);
}

}  // namespace
}  // namespace weft::test
