// Questions for datagram services, whichever datagram is lost, repeated or late.
#include <gmock/gmock.h>

#include "cm/test_pair.h"

namespace weft::cm {
namespace {

using test::Fault;
using test::kA;
using test::kB;
using test::Pair;
using testing::ElementsAre;

ServiceCall call(std::span<const std::byte> data) {
  return {.path = {.local = kA, .remote = kB},
          .service_id = test::kDatagramService,
          .addresses = {.source_port = 1, .source = kA, .destination = kB},
          .private_data = data};
}

Id ask(Pair& pair) {
  Id id = 0;
  EXPECT_EQ(pair.a.ask_service(call(test::bytes("where?")), pair.now, pair.from_a, id), Answer::ok);
  return id;
}

void answer(Pair& pair, std::uint8_t status) {
  pair.b.listen(test::kDatagramService, {}, 4, ServiceKind::datagram);
  pair.on_b = [status](Pair& p, Manager& m, const CmEvent& e) {
    const auto data = test::bytes("here");
    const ServiceAnswer answer{.status = status, .qpn = wire::Qpn(7), .qkey = wire::Qkey(8), .private_data = data};
    ASSERT_EQ(m.answer_service(e.id, answer, p.now, p.from_b), Answer::ok);
    m.release(e.id, p.now, p.from_b);
  };
}

TEST(CmDatagram, IsAnsweredOnceWhateverIsLost) {
  for (const Fault::Kind kind :
       {Fault::Kind::none, Fault::Kind::lose, Fault::Kind::repeat, Fault::Kind::repeat_late, Fault::Kind::delay}) {
    for (const std::size_t nth : {0, 1}) {
      for (const Time late : {milliseconds(1), milliseconds(600), milliseconds(1'700)}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " at " << nth << " late " << late);
        Pair pair({.kind = kind, .nth = nth, .late = late});
        answer(pair, service_status::kSuccess);
        const Id id = ask(pair);
        pair.run();
        ASSERT_THAT(pair.names(pair.b_events), ElementsAre("service_request"));
        EXPECT_EQ(test::text_of(pair.b_events[0]), "where?");
        EXPECT_EQ(pair.b_events[0].private_bytes, 180);
        ASSERT_THAT(pair.names(pair.a_events), ElementsAre("service_answer"));
        EXPECT_EQ(pair.a_events[0].peer.qpn, wire::Qpn(7));
        EXPECT_EQ(pair.a_events[0].qkey, wire::Qkey(8));
        EXPECT_EQ(pair.a_events[0].private_bytes, 136);
        EXPECT_EQ(test::text_of(pair.a_events[0]), "here");
        EXPECT_EQ(pair.b.connections(), 0u);
        pair.a.release(id, pair.now, pair.from_a);
        EXPECT_EQ(pair.a.connections(), 0u);
      }
    }
  }
}

TEST(CmDatagram, CarriesEveryStatus) {
  for (unsigned status = 1; status < 256; ++status) {
    Pair pair;
    answer(pair, static_cast<std::uint8_t>(status));
    ask(pair);
    pair.run();
    ASSERT_THAT(pair.names(pair.a_events), ElementsAre("service_answer"));
    EXPECT_EQ(pair.a_events[0].reason, status);
  }
}

TEST(CmDatagram, ForNobodyIsUnsupported) {
  Pair pair;
  ask(pair);
  pair.run();
  ASSERT_THAT(pair.names(pair.a_events), ElementsAre("service_answer"));
  EXPECT_EQ(pair.a_events[0].reason, service_status::kUnsupported);
}

TEST(CmDatagram, IsPatientWithAListenerWhoIsLate) {
  ManagerSettings settings;
  settings.listener_patience = milliseconds(200);
  Pair pair({}, settings);
  ask(pair);
  pair.run(pair.now + milliseconds(100));
  EXPECT_TRUE(pair.a_events.empty());
  answer(pair, service_status::kSuccess);
  pair.run();
  ASSERT_THAT(pair.names(pair.a_events), ElementsAre("service_answer"));
  EXPECT_EQ(pair.a_events[0].reason, service_status::kSuccess);
}

TEST(CmDatagram, AListenerForConnectionsIsNotAsked) {
  Pair pair;
  pair.b.listen(test::kDatagramService, {}, 4);
  ask(pair);
  pair.run();
  EXPECT_TRUE(pair.b_events.empty());
  EXPECT_EQ(pair.a_events.at(0).reason, service_status::kUnsupported);
}

TEST(CmDatagram, WithoutAnAnswerIsUnreachable) {
  Pair pair;
  pair.lose = [](const Datagram&) { return true; };
  ask(pair);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("unreachable"));
  EXPECT_EQ(pair.sent, 16u);
}

TEST(CmDatagram, AListenerWhoGoesAnswersNo) {
  Pair pair;
  pair.b.listen(test::kDatagramService, {}, 4, ServiceKind::datagram);
  pair.on_b = [](Pair& p, Manager& m, const CmEvent& e) { m.release(e.id, p.now, p.from_b); };
  ask(pair);
  pair.run();
  ASSERT_THAT(pair.names(pair.a_events), ElementsAre("service_answer"));
  EXPECT_EQ(pair.a_events[0].reason, service_status::kRejected);
}

TEST(CmDatagram, TheBacklogHoldsHereToo) {
  Pair pair;
  pair.b.listen(test::kDatagramService, {}, 1, ServiceKind::datagram);
  ask(pair);
  ask(pair);
  pair.run(pair.now + milliseconds(1));
  EXPECT_EQ(pair.b_events.size(), 1u);
  EXPECT_EQ(pair.b.refused(Refused::backlog_full), 1u);
  const std::vector<std::byte> much(181);
  Id id = 0;
  EXPECT_EQ(pair.a.ask_service(call(much), pair.now, pair.from_a, id), Answer::too_long);
}

}  // namespace
}  // namespace weft::cm
