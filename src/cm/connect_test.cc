// Two managers connect, are refused, or miss each other; whichever datagram is lost, repeated or late.
#include <gmock/gmock.h>

#include "cm/test_pair.h"

namespace weft::cm {
namespace {

using test::Fault;
using test::kA;
using test::kB;
using test::Pair;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr QpParameters kServer{.qpn = wire::Qpn(0x9876),
                               .starting_psn = wire::Psn(99),
                               .responder_resources = 2,
                               .initiator_depth = 1,
                               .rnr_retry_count = 5};

void accept_and_get_ready(Pair& pair) {
  pair.on_b = [](Pair& p, Manager& m, const CmEvent& e) {
    if (e.what == Happening::request) {
      ASSERT_EQ(m.accept(e.id, kServer, test::bytes("welcome"), p.now, p.from_b), Answer::ok);
    }
  };
  pair.on_a = [](Pair& p, Manager& m, const CmEvent& e) {
    if (e.what == Happening::response) {
      ASSERT_EQ(m.ready(e.id, p.from_a), Answer::ok);
    }
  };
}

Id connect(Pair& pair, std::string_view data = "hello") {
  Id id = 0;
  EXPECT_EQ(pair.a.connect(pair.call(test::bytes(data)), pair.now, pair.from_a, id), Answer::ok);
  return id;
}

// Connects, stays connected for two seconds, disconnects.
void whole_life(Pair& pair) {
  pair.b.listen(test::kService, kB, 10);
  accept_and_get_ready(pair);
  const Id id = connect(pair);
  pair.run(seconds(4));
  ASSERT_EQ(pair.a.find(id)->state, State::established);
  ASSERT_EQ(pair.b.find(pair.b_events.at(0).id)->state, State::established);
  pair.now = seconds(4);
  ASSERT_EQ(pair.a.disconnect(id, pair.now, pair.from_a), Answer::ok);
  pair.run();
}

TEST(CmConnect, BothSidesLearnWhatTheOtherSaid) {
  Pair pair;
  whole_life(pair);
  ASSERT_EQ(pair.sent, 5u);  // REQ, REP, RTU, DREQ, DREP
  const CmEvent& request = pair.b_events.at(0);
  EXPECT_EQ(request.peer.qpn, wire::Qpn(0x1234));
  EXPECT_EQ(request.peer.starting_psn, wire::Psn(77));
  EXPECT_EQ(request.peer.responder_resources, 4);  // the peer's depth is what this side holds
  EXPECT_EQ(request.peer.initiator_depth, 3);
  EXPECT_EQ(request.peer.retry_count, 7);
  EXPECT_EQ(request.peer.rnr_retry_count, 6);
  EXPECT_EQ(request.addresses.source_port, 33'000);
  EXPECT_EQ(request.addresses.source, kA);
  EXPECT_EQ(request.path.local, kB);
  EXPECT_EQ(request.path.mtu, 5);
  EXPECT_EQ(request.private_bytes, 56);
  EXPECT_EQ(test::text_of(request), "hello");
  const CmEvent& response = pair.a_events.at(0);
  EXPECT_EQ(response.peer.qpn, kServer.qpn);
  EXPECT_EQ(response.peer.starting_psn, kServer.starting_psn);
  EXPECT_EQ(response.peer.responder_resources, 1);
  EXPECT_EQ(response.peer.initiator_depth, 2);
  EXPECT_EQ(response.private_bytes, 196);
  EXPECT_EQ(test::text_of(response), "welcome");
  EXPECT_EQ(request.id >> 24, 2u);
  EXPECT_EQ(response.id >> 24, 1u);
}

const std::vector<Fault::Kind> kEveryKind = {Fault::Kind::none, Fault::Kind::lose, Fault::Kind::repeat,
                                             Fault::Kind::repeat_late, Fault::Kind::delay};

template <class Scenario>
void with_every_fault(std::size_t datagrams, Scenario scenario) {
  for (const Fault::Kind kind : kEveryKind) {
    for (std::size_t nth = 0; nth < datagrams; ++nth) {
      for (const Time late : {milliseconds(1), milliseconds(600), milliseconds(1'700)}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << " at " << nth << " late " << late);
        scenario(Fault{.kind = kind, .nth = nth, .late = late});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(CmConnect, LivesThroughAnyOneFault) {
  with_every_fault(5, [](Fault fault) {
    Pair pair(fault);
    whole_life(pair);
    EXPECT_THAT(pair.names(pair.a_events), ElementsAre("response", "disconnected", "timewait_over"));
    EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "established", "disconnected", "timewait_over"));
    EXPECT_EQ(pair.a_events[1].reason, 0);
    EXPECT_EQ(pair.a.next_deadline(), kNever);
    EXPECT_EQ(pair.b.next_deadline(), kNever);
  });
}

TEST(CmConnect, IsRejectedOnceWhateverIsLost) {
  with_every_fault(2, [](Fault fault) {
    Pair pair(fault);
    pair.b.listen(test::kService, {}, 10);
    pair.on_b = [](Pair& p, Manager& m, const CmEvent& e) {
      ASSERT_EQ(m.reject(e.id, reason::kConsumer, test::bytes("no"), p.now, p.from_b), Answer::ok);
      m.release(e.id, p.now, p.from_b);
    };
    const Id id = connect(pair);
    pair.run();
    ASSERT_THAT(pair.names(pair.a_events), ElementsAre("rejected"));
    EXPECT_EQ(pair.a_events[0].reason, reason::kConsumer);
    EXPECT_EQ(pair.a_events[0].private_bytes, 148);
    EXPECT_EQ(test::text_of(pair.a_events[0]), "no");
    EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request"));
    EXPECT_EQ(pair.b.connections(), 0u);
    pair.a.release(id, pair.now, pair.from_a);
    EXPECT_EQ(pair.a.connections(), 0u);
  });
}

TEST(CmConnect, CarriesEveryReason) {
  for (std::uint32_t why = 1; why < 70; ++why) {
    Pair pair;
    pair.b.listen(test::kService, {}, 10);
    pair.on_b = [why](Pair& p, Manager& m, const CmEvent& e) {
      ASSERT_EQ(m.reject(e.id, static_cast<std::uint16_t>(why), {}, p.now, p.from_b), Answer::ok);
    };
    connect(pair);
    pair.run();
    ASSERT_THAT(pair.names(pair.a_events), ElementsAre("rejected"));
    EXPECT_EQ(pair.a_events[0].reason, why);
  }
}

TEST(CmConnect, WhoWasRejectedMayTryAgainAtOnce) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  pair.on_b = [](Pair& p, Manager& m, const CmEvent& e) {
    ASSERT_EQ(m.reject(e.id, reason::kConsumer, {}, p.now, p.from_b), Answer::ok);
  };
  connect(pair);
  pair.run(pair.now + milliseconds(1));
  connect(pair);
  pair.run();
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "request"));
}

TEST(CmConnect, ToNobodyIsRejected) {
  with_every_fault(2, [](Fault fault) {
    Pair pair(fault);
    connect(pair);
    pair.run();
    ASSERT_THAT(pair.names(pair.a_events), ElementsAre("rejected"));
    EXPECT_EQ(pair.a_events[0].reason, reason::kInvalidServiceId);
    EXPECT_GE(pair.b.refused(Refused::no_listener), 1u);
  });
}

TEST(CmConnect, IsPatientWithAListenerWhoIsLate) {
  ManagerSettings settings;
  settings.listener_patience = milliseconds(200);
  Pair pair({}, settings);
  accept_and_get_ready(pair);
  connect(pair);
  pair.run(pair.now + milliseconds(100));
  EXPECT_THAT(pair.a_events, IsEmpty());
  pair.b.listen(test::kService, {}, 1);
  pair.run(pair.now + milliseconds(100));
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("response"));
}

TEST(CmConnect, IsPatientForSoLong) {
  ManagerSettings settings;
  settings.listener_patience = milliseconds(200);
  Pair pair({}, settings);
  connect(pair);
  const Time began = pair.now;
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("rejected"));
  EXPECT_LT(pair.now - began, milliseconds(230));
  EXPECT_LT(pair.sent, 20u);
}

TEST(CmConnect, WithoutAnAnswerIsUnreachable) {
  Pair pair;
  pair.lose = [](const Datagram&) { return true; };
  connect(pair);
  const Time began = pair.now;
  pair.run();
  ASSERT_THAT(pair.names(pair.a_events), ElementsAre("unreachable"));
  EXPECT_EQ(pair.sent, 16u);  // one, and fifteen repetitions
  EXPECT_EQ(pair.now - began, 16 * time_of(17, nanoseconds(1)));
}

TEST(CmConnect, TheAcceptingSideGivesUpToo) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  accept_and_get_ready(pair);
  pair.lose = [](const Datagram& d) { return d.from == kA && d.bytes[17] == std::byte{0x14}; };  // every RTU
  connect(pair);
  pair.run();
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "unreachable"));
  // Expect: the REJ of B's impatience reaches A, which was connected as far as it knew.
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("response", "rejected", "timewait_over"));
  EXPECT_EQ(pair.a_events[1].reason, reason::kTimeout);
}

TEST(CmConnect, FirstDataStandsForALostRtu) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  accept_and_get_ready(pair);
  pair.lose = [](const Datagram& d) { return d.from == kA && d.bytes[17] == std::byte{0x14}; };
  connect(pair);
  pair.run(pair.now + milliseconds(1));
  ASSERT_EQ(pair.b.established(pair.b_events.at(0).id, pair.from_b), Answer::ok);
  ASSERT_EQ(pair.b.established(pair.b_events.at(0).id, pair.from_b), Answer::ok);  // as often as they like
  pair.run();
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "established"));
  EXPECT_EQ(pair.b.next_deadline(), kNever);
}

TEST(CmConnect, ASlowListenerAsksForPatience) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  pair.on_a = [](Pair& p, Manager& m, const CmEvent& e) { ASSERT_EQ(m.ready(e.id, p.from_a), Answer::ok); };
  connect(pair);
  pair.run(seconds(40));
  ASSERT_THAT(pair.names(pair.b_events), ElementsAre("request"));
  EXPECT_LT(pair.sent, 50u);  // waiting is cheap
  pair.now = seconds(40);
  ASSERT_EQ(pair.b.accept(pair.b_events[0].id, kServer, {}, pair.now, pair.from_b), Answer::ok);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("response"));
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "established"));
}

TEST(CmConnect, ASlowCallerAsksForPatience) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  accept_and_get_ready(pair);
  pair.on_a = nullptr;
  const Id id = connect(pair);
  pair.run(seconds(40));
  ASSERT_THAT(pair.names(pair.a_events), ElementsAre("response"));
  pair.now = seconds(40);
  ASSERT_EQ(pair.a.ready(id, pair.from_a), Answer::ok);
  pair.run();
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "established"));
}

TEST(CmConnect, AVerySlowListenerIsStillWaitedFor) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  connect(pair);
  pair.run(seconds(500));
  EXPECT_THAT(pair.a_events, IsEmpty());
}

// Receive: the REP twice in a row, the RTU lost. Expect: the second REP is not taken for impatience, and the loss is
// noticed as soon as ever.
TEST(CmConnect, ARepetitionDoesNotSlowTheNextLossDown) {
  Pair pair({.kind = Fault::Kind::repeat, .nth = 1});
  pair.b.listen(test::kService, {}, 10);
  accept_and_get_ready(pair);
  pair.on_a = nullptr;
  const Id id = connect(pair);
  pair.run(pair.now + milliseconds(1));
  int rtus = 0;
  pair.lose = [&rtus](const Datagram& d) { return d.from == kA && d.bytes[17] == std::byte{0x14} && ++rtus == 1; };
  ASSERT_EQ(pair.a.ready(id, pair.from_a), Answer::ok);
  const Time began = pair.now;
  pair.run();
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "established"));
  EXPECT_LT(pair.now - began, milliseconds(600));
}

TEST(CmConnect, CallsThatDoNotFitTheStateAreRefused) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  const Id id = connect(pair);
  EXPECT_EQ(pair.a.ready(id, pair.from_a), Answer::wrong_state);
  EXPECT_EQ(pair.a.accept(id, kServer, {}, pair.now, pair.from_a), Answer::wrong_state);
  EXPECT_EQ(pair.a.reject(id, 28, {}, pair.now, pair.from_a), Answer::wrong_state);
  EXPECT_EQ(pair.a.established(id, pair.from_a), Answer::wrong_state);
  EXPECT_EQ(pair.a.disconnect(id, pair.now, pair.from_a), Answer::wrong_state);
  EXPECT_EQ(pair.a.disconnect(id + 1, pair.now, pair.from_a), Answer::no_such_connection);
  EXPECT_EQ(pair.a.answer_service(id, {.private_data = {}}, pair.now, pair.from_a), Answer::wrong_state);
  const std::vector<std::byte> much(200);
  EXPECT_EQ(pair.a.connect(pair.call(std::span(much).first(57)), pair.now, pair.from_a, *std::make_unique<Id>()),
            Answer::too_long);
  pair.run(pair.now + milliseconds(1));
  const Id theirs = pair.b_events.at(0).id;
  EXPECT_EQ(pair.b.accept(theirs, kServer, std::span(much).first(197), pair.now, pair.from_b), Answer::too_long);
  EXPECT_EQ(pair.b.reject(theirs, 28, std::span(much).first(149), pair.now, pair.from_b), Answer::too_long);
}

TEST(CmConnect, TheBacklogLimitsWhatWaits) {
  Pair pair;
  const ListenerId listener = pair.b.listen(test::kService, {}, 2);
  for (int i = 0; i < 3; ++i) {
    ConnectCall call = pair.call();
    call.side.qpn = wire::Qpn(static_cast<std::uint32_t>(100 + i));
    Id id = 0;
    ASSERT_EQ(pair.a.connect(call, pair.now, pair.from_a, id), Answer::ok);
  }
  pair.run(pair.now + milliseconds(1));
  EXPECT_EQ(pair.b_events.size(), 2u);
  EXPECT_EQ(pair.b.refused(Refused::backlog_full), 1u);
  pair.b.noticed(pair.b_events[0].id);
  pair.b.noticed(pair.b_events[0].id);  // counts once
  pair.run(pair.now + seconds(1));
  EXPECT_EQ(pair.b_events.size(), 3u);  // the third asked again
  pair.b.stop_listening(listener);
  pair.b.noticed(pair.b_events[1].id);  // of a listener that is gone
}

TEST(CmConnect, TheVeryAddressGoesBeforeAllAddresses) {
  Pair pair;
  const ListenerId all = pair.b.listen(test::kService, {}, 10);
  const ListenerId very = pair.b.listen(test::kService, kB, 10);
  pair.b.listen(test::kService, kA, 10);
  pair.b.listen(test::kService + 1, kB, 10);
  connect(pair);
  pair.run(pair.now + milliseconds(1));
  ASSERT_EQ(pair.b_events.size(), 1u);
  EXPECT_EQ(pair.b_events[0].listener, very);
  EXPECT_NE(all, very);
}

TEST(CmConnect, AQueuePairHasOneConnection) {
  Pair pair;
  pair.b.listen(test::kService, {}, 10);
  accept_and_get_ready(pair);
  connect(pair);
  pair.run();
  // Receive: a second REQ from the same queue pair. Expect: REJ, and the old connection asked whether it still lives.
  connect(pair);
  pair.run();
  EXPECT_EQ(pair.b.refused(Refused::stale), 1u);
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "established", "disconnected", "timewait_over"));
  EXPECT_THAT(pair.names(pair.a_events),
              testing::UnorderedElementsAre("response", "rejected", "disconnected", "timewait_over"));
  // Expect: after that the queue pair may connect again.
  pair.a_events.clear();
  connect(pair);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("response"));
}

TEST(CmConnect, OneManagerCanCallItself) {
  Pair pair;
  pair.a.listen(test::kService, {}, 10);
  pair.on_a = [](Pair& p, Manager& m, const CmEvent& e) {
    if (e.what == Happening::request) {
      ASSERT_EQ(m.accept(e.id, kServer, {}, p.now, p.from_a), Answer::ok);
    }
    if (e.what == Happening::response) {
      ASSERT_EQ(m.ready(e.id, p.from_a), Answer::ok);
    }
    if (e.what == Happening::established) {
      ASSERT_EQ(m.disconnect(e.id, p.now, p.from_a), Answer::ok);
    }
  };
  ConnectCall call = pair.call();
  call.path.remote = kA;
  Id id = 0;
  ASSERT_EQ(pair.a.connect(call, pair.now, pair.from_a, id), Answer::ok);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("request", "response", "established", "disconnected",
                                                     "disconnected", "timewait_over", "timewait_over"));
}

}  // namespace
}  // namespace weft::cm
