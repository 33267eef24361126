// How connections end: by one side, by both, by nobody answering, by a user who simply goes.
#include <gmock/gmock.h>

#include "cm/test_pair.h"

namespace weft::cm {
namespace {

using test::kA;
using test::Pair;
using testing::ElementsAre;
using testing::IsEmpty;

class CmDisconnect : public testing::Test {
 protected:
  // Expect: connected, ids known, nothing under way.
  void establish() {
    pair.b.listen(test::kService, {}, 10);
    pair.on_b = [](Pair& p, Manager& m, const CmEvent& e) {
      if (e.what != Happening::request) return;
      ASSERT_EQ(m.accept(e.id, {.qpn = wire::Qpn(9)}, {}, p.now, p.from_b), Answer::ok);
    };
    pair.on_a = [](Pair& p, Manager& m, const CmEvent& e) {
      if (e.what == Happening::response) {
        ASSERT_EQ(m.ready(e.id, p.from_a), Answer::ok);
      }
    };
    ASSERT_EQ(pair.a.connect(pair.call(), pair.now, pair.from_a, a), Answer::ok);
    pair.run();
    b = pair.b_events.at(0).id;
    pair.a_events.clear();
    pair.b_events.clear();
  }
  void expect_nothing_left() {
    EXPECT_EQ(pair.a.connections(), 0u);
    EXPECT_EQ(pair.b.connections(), 0u);
    EXPECT_EQ(pair.a.next_deadline(), kNever);
    EXPECT_EQ(pair.b.next_deadline(), kNever);
  }

  Pair pair;
  Id a = 0, b = 0;
};

TEST_F(CmDisconnect, TheAcceptingSideMayEndItToo) {
  establish();
  ASSERT_EQ(pair.b.disconnect(b, pair.now, pair.from_b), Answer::ok);
  EXPECT_EQ(pair.b.disconnect(b, pair.now, pair.from_b), Answer::wrong_state);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("disconnected", "timewait_over"));
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("disconnected", "timewait_over"));
}

TEST_F(CmDisconnect, BothAtOnce) {
  establish();
  ASSERT_EQ(pair.a.disconnect(a, pair.now, pair.from_a), Answer::ok);
  ASSERT_EQ(pair.b.disconnect(b, pair.now, pair.from_b), Answer::ok);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("disconnected", "timewait_over"));
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("disconnected", "timewait_over"));
  EXPECT_EQ(pair.sent, 7u);
}

TEST_F(CmDisconnect, NobodyAnswers) {
  establish();
  pair.lose = [](const Datagram&) { return true; };
  ASSERT_EQ(pair.a.disconnect(a, pair.now, pair.from_a), Answer::ok);
  pair.run();
  ASSERT_THAT(pair.names(pair.a_events), ElementsAre("disconnected", "timewait_over"));
  EXPECT_EQ(pair.a_events[0].reason, reason::kTimeout);
}

TEST_F(CmDisconnect, AskedAgainAfterAllIsForgotten) {
  establish();
  // Receive: every DREP lost until B has forgotten the connection. Expect: it is disconnected all the same.
  const Time calm = pair.now + seconds(2);
  pair.lose = [this, calm](const Datagram& d) { return d.bytes[17] == std::byte{0x16} && pair.now < calm; };
  pair.b.release(b, pair.now, pair.from_b);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("disconnected", "timewait_over"));
  EXPECT_THAT(pair.b_events, IsEmpty());
  EXPECT_EQ(pair.b.connections(), 0u);
}

TEST_F(CmDisconnect, ReleaseOfALiveConnectionEndsIt) {
  establish();
  pair.a.release(a, pair.now, pair.from_a);
  pair.run();
  EXPECT_THAT(pair.a_events, IsEmpty());
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("disconnected", "timewait_over"));
  pair.b.release(b, pair.now, pair.from_b);
  expect_nothing_left();
}

TEST_F(CmDisconnect, ReleaseWithoutAnAnswerToTheRequest) {
  pair.b.listen(test::kService, {}, 10);
  ASSERT_EQ(pair.a.connect(pair.call(), pair.now, pair.from_a, a), Answer::ok);
  pair.run(pair.now + milliseconds(1));
  pair.b.release(pair.b_events.at(0).id, pair.now, pair.from_b);
  pair.run();
  ASSERT_THAT(pair.names(pair.a_events), ElementsAre("rejected"));
  EXPECT_EQ(pair.a_events[0].reason, reason::kConsumer);
  pair.a.release(a, pair.now, pair.from_a);
  expect_nothing_left();
}

TEST_F(CmDisconnect, TheCallerGivesUpBeforeTheAnswer) {
  pair.b.listen(test::kService, {}, 10);
  ASSERT_EQ(pair.a.connect(pair.call(), pair.now, pair.from_a, a), Answer::ok);
  pair.flush();
  pair.a.release(a, pair.now, pair.from_a);
  pair.run(pair.now + milliseconds(1));
  const Id request = pair.b_events.at(0).id;
  ASSERT_EQ(pair.b.accept(request, {.qpn = wire::Qpn(9)}, {}, pair.now, pair.from_b), Answer::ok);
  pair.run();
  // Expect: the REP meets nobody, and B hears of it at once.
  ASSERT_THAT(pair.names(pair.b_events), ElementsAre("request", "rejected"));
  EXPECT_EQ(pair.b_events[1].reason, reason::kInvalidId);
  pair.b.release(request, pair.now, pair.from_b);
  expect_nothing_left();
}

TEST_F(CmDisconnect, TheCallerGivesUpAfterBeingToldToWait) {
  pair.b.listen(test::kService, {}, 10);
  ASSERT_EQ(pair.a.connect(pair.call(), pair.now, pair.from_a, a), Answer::ok);
  pair.run(pair.now + seconds(2));  // MRA has come
  pair.a.release(a, pair.now, pair.from_a);
  pair.run();
  ASSERT_THAT(pair.names(pair.b_events), ElementsAre("request", "rejected"));
  EXPECT_EQ(pair.b_events[1].reason, reason::kTimeout);
}

TEST_F(CmDisconnect, ReleaseOfAnAcceptedConnectionBeforeTheRtu) {
  pair.b.listen(test::kService, {}, 10);
  ASSERT_EQ(pair.a.connect(pair.call(), pair.now, pair.from_a, a), Answer::ok);
  pair.run(pair.now + milliseconds(1));
  const Id request = pair.b_events.at(0).id;
  ASSERT_EQ(pair.b.accept(request, {.qpn = wire::Qpn(9)}, {}, pair.now, pair.from_b), Answer::ok);
  pair.b.release(request, pair.now, pair.from_b);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("response", "rejected", "timewait_over"));
  EXPECT_EQ(pair.b.connections(), 0u);
}

TEST_F(CmDisconnect, TheCallerRefusesTheResponse) {
  pair.b.listen(test::kService, {}, 10);
  pair.on_b = [](Pair& p, Manager& m, const CmEvent& e) {
    if (e.what == Happening::request) {
      ASSERT_EQ(m.accept(e.id, {.qpn = wire::Qpn(9)}, {}, p.now, p.from_b), Answer::ok);
    }
  };
  ASSERT_EQ(pair.a.connect(pair.call(), pair.now, pair.from_a, a), Answer::ok);
  pair.run(pair.now + milliseconds(1));
  pair.a.release(a, pair.now, pair.from_a);
  pair.run();
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "rejected"));
  EXPECT_EQ(pair.a.connections(), 0u);
}

TEST_F(CmDisconnect, BeforeTheRtuCame) {
  pair.b.listen(test::kService, {}, 10);
  pair.on_a = [](Pair& p, Manager& m, const CmEvent& e) {
    if (e.what == Happening::response) {
      ASSERT_EQ(m.ready(e.id, p.from_a), Answer::ok);
    }
  };
  pair.lose = [](const Datagram& d) { return d.from == kA && d.bytes[17] == std::byte{0x14}; };
  ASSERT_EQ(pair.a.connect(pair.call(), pair.now, pair.from_a, a), Answer::ok);
  pair.run(pair.now + milliseconds(1));
  b = pair.b_events.at(0).id;
  ASSERT_EQ(pair.b.accept(b, {.qpn = wire::Qpn(9)}, {}, pair.now, pair.from_b), Answer::ok);
  pair.run(pair.now + milliseconds(1));
  ASSERT_EQ(pair.b.disconnect(b, pair.now, pair.from_b), Answer::ok);
  pair.run();
  EXPECT_THAT(pair.names(pair.a_events), ElementsAre("response", "disconnected", "timewait_over"));
  EXPECT_THAT(pair.names(pair.b_events), ElementsAre("request", "disconnected", "timewait_over"));
}

}  // namespace
}  // namespace weft::cm
