// Which dialect a connection ends up with, whatever its two sides were told and whatever gets lost on the way.
#include <cstring>
#include <optional>

#include <gtest/gtest.h>

#include "foreign_peer.h"
#include "lanes.h"
#include "world/real/lane/negotiation.h"

namespace weft::real {
namespace {

using nic::Dialect;
using Choice = TransportChoice;

Settings settings_of(const wire::Address& address, Choice transport, WireChoice wire, const char* loss = nullptr) {
  Settings s;
  s.addresses = {address};
  s.wire = wire;
  s.transport = transport;
  s.max_qps = 64;
  if (loss != nullptr) {
    EXPECT_EQ(s.impairments.set("loss", loss), "");
    s.seed = address.bytes[15];
  }
  return s;
}

// ---- two Weft cards on one host

struct Pairing {
  const char* name;
  Choice a, b;
  Dialect spoken;
};

class Pairings : public testing::TestWithParam<std::tuple<Pairing, WireChoice, const char*>> {
 protected:
  static constexpr wire::Address kA = wire::Address::v4(127, 0, 7, 1), kB = wire::Address::v4(127, 0, 7, 2);
  static Pairing pairing() { return std::get<0>(GetParam()); }
  static WireChoice wire() { return std::get<1>(GetParam()); }
  static const char* loss() { return std::get<2>(GetParam()); }
};

TEST_P(Pairings, AgreeAndCarryData) {
  TestLane a(settings_of(kA, pairing().a, wire(), loss())), b(settings_of(kB, pairing().b, wire(), loss()));
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
  a.connect(*qa, kB, qb->qpn());
  b.connect(*qb, kA, qa->qpn());
  for (std::size_t i = 0; i < 60'000; ++i) a.memory[i] = static_cast<std::byte>(i * 31);
  a.write(*qa, 0, 60'000, 200'000, b.key);
  EXPECT_EQ(a.wait().status, nic::Status::success);
  b.write(*qb, 200'000, 60'000, 400'000, a.key);
  EXPECT_EQ(b.wait().status, nic::Status::success);
  EXPECT_TRUE(a.holds(400'000, a.memory.data(), 60'000));
  EXPECT_EQ(dialect_of(a, *qa), pairing().spoken);
  EXPECT_EQ(dialect_of(b, *qb), pairing().spoken);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Pairings,
    testing::Combine(testing::Values(Pairing{"auto_auto", Choice::automatic, Choice::automatic, Dialect::srnic},
                                     Pairing{"auto_roce", Choice::automatic, Choice::roce, Dialect::roce},
                                     Pairing{"roce_auto", Choice::roce, Choice::automatic, Dialect::roce},
                                     Pairing{"auto_srnic", Choice::automatic, Choice::srnic, Dialect::srnic},
                                     Pairing{"roce_roce", Choice::roce, Choice::roce, Dialect::roce},
                                     Pairing{"srnic_srnic", Choice::srnic, Choice::srnic, Dialect::srnic}),
                     testing::Values(WireChoice::udp, WireChoice::automatic),
                     testing::Values(static_cast<const char*>(nullptr), "10%")),
    [](const auto& p) {
      return std::string(std::get<0>(p.param).name) + (std::get<1>(p.param) == WireChoice::udp ? "_udp" : "_shm") +
             (std::get<2>(p.param) != nullptr ? "_loss" : "");
    });

// ---- sides that came to different decisions

class Disagreement : public testing::Test {
 protected:
  static constexpr wire::Address kA = wire::Address::v4(127, 0, 7, 3), kB = wire::Address::v4(127, 0, 7, 4);
  void decide(TestLane& lane, host::QueuePair& qp, Dialect dialect) {
    const std::lock_guard guard(lane.lane.lock());
    qp.decide(dialect);
    lane.lane.rang();
  }
  void connect() {
    decide(a, *qa, Dialect::srnic);
    decide(b, *qb, Dialect::roce);
    a.connect(*qa, kB, qb->qpn());
    b.connect(*qb, kA, qa->qpn());
  }
  void expect_both(Dialect dialect) {
    EXPECT_EQ(dialect_of(a, *qa), dialect);
    EXPECT_EQ(dialect_of(b, *qb), dialect);
  }
  TestLane a{settings_of(kA, Choice::automatic, WireChoice::udp)},
      b{settings_of(kB, Choice::automatic, WireChoice::udp)};
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
};

// It never sends a request, so nobody would hear that it speaks roce.
TEST_F(Disagreement, OneThatOnlyListensFollowsItsPeer) {
  connect();
  a.write(*qa, 0, 30'000, 4096, b.key);
  EXPECT_EQ(a.wait().status, nic::Status::success);
  expect_both(Dialect::srnic);
}

TEST_F(Disagreement, OneThatHasSentInRoceIsFollowed) {
  connect();
  b.write(*qb, 0, 30'000, 4096, a.key);
  EXPECT_EQ(b.wait().status, nic::Status::success);
  expect_both(Dialect::roce);
}

TEST_F(Disagreement, IsMendedWhenBothSendAtOnce) {
  for (int round = 0; round < 20; ++round) {
    qa = a.make_qp();
    qb = b.make_qp();
    connect();
    a.write(*qa, 0, 20'000, 100'000, b.key);
    b.write(*qb, 0, 20'000, 100'000, a.key);
    EXPECT_EQ(a.wait(false).status, nic::Status::success);
    EXPECT_EQ(b.wait(false).status, nic::Status::success);
    EXPECT_EQ(dialect_of(a, *qa), dialect_of(b, *qb));
  }
}

// ---- peers that are not on this host, or not Weft

class Foreign : public testing::Test {
 protected:
  static constexpr wire::Address kOwn = wire::Address::v4(127, 0, 7, 5), kPeer = wire::Address::v4(127, 0, 7, 6);
  // A number as Weft's own would be, of lane 9; Soft-RoCE's are like any other.
  static constexpr wire::Qpn kPeerQpn{9U << 17 | 77};

  host::QueuePair* connected() {
    host::QueuePair* qp = lane.make_qp();
    lane.connect(*qp, kPeer, kPeerQpn);
    return qp;
  }
  // The same, and the first question is answered. The lane hears that when it goes on: it has had no time to give up.
  template <class Answer>
  host::QueuePair* connected_and_answered(Answer&& answer) {
    host::QueuePair* qp = lane.make_qp();
    const std::lock_guard busy(lane.lane.lock());
    lane.connect_with_lock_held(*qp, kPeer, kPeerQpn);
    const auto question = peer.hear();
    EXPECT_TRUE(question && question->mad);
    if (question && question->mad) peer.say(kOwn, answer(*question->mad));
    wait_for_broker();
    return qp;
  }
  // The number of a queue pair in a lane that is not there: only ours has this address.
  wire::Qpn nobodys() { return wire::Qpn((lane.lane.number() == 120 ? 119U : 120U) << 17 | 5); }
  // Until it has handed on all that the peer has said: it serves one question behind the other.
  void wait_for_broker() {
    constexpr std::uint64_t kLast = 1;
    peer.say(kOwn, {.transaction = kLast, .versions = wire::kDialectVersions, .asker = kPeerQpn, .about = nobodys()});
    std::optional<ForeignPeer::Heard> heard;
    do {
      heard = peer.hear_answer();
    } while (heard && heard->mad->transaction != kLast);
    EXPECT_TRUE(heard.has_value());
  }
  // Has the lane heard an answer? It would have asked more often before it gave up.
  void expect_not_given_up() {
    std::uint32_t more = 0;
    while (peer.hear(0)) ++more;
    EXPECT_LT(1 + more, Negotiation::kTries);
  }
  Dialect soon(const host::QueuePair& qp, Dialect expected) {
    (void)eventually([&] { return dialect_of(lane, qp) == expected; });
    return dialect_of(lane, qp);
  }
  ForeignPeer peer{kPeer};
  TestLane lane{settings_of(kOwn, Choice::automatic, WireChoice::udp)};
};

TEST_F(Foreign, APeerThatNeverAnswersGetsRoceAndIsWaitedForOnce) {
  host::QueuePair* first = connected();
  EXPECT_EQ(dialect_of(lane, *first), Dialect::undecided);
  lane.write(*first, 0, 64, 0, lane.key);
  EXPECT_EQ(soon(*first, Dialect::roce), Dialect::roce);
  const auto heard = peer.hear_packet();
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->packet.headers.bth.opcode, wire::Opcode::rc_write_only);
  EXPECT_EQ(dialect_of(lane, *connected()), Dialect::roce) << "at once";
}

TEST_F(Foreign, APeerThatDoesNotKnowTheQuestionGetsRoceAtOnce) {
  host::QueuePair* qp = connected_and_answered([](wire::VendorMad question) {
    question.is_answer = true;
    question.status = 0x000C;
    return question;
  });
  EXPECT_EQ(soon(*qp, Dialect::roce), Dialect::roce);
  expect_not_given_up();
}

TEST_F(Foreign, APeerThatSaysYesGetsSrnicThoughTheFirstQuestionsWereLost) {
  host::QueuePair* qp = connected();
  lane.write(*qp, 0, 64, 0, lane.key);
  for (int lost = 0; lost < 2; ++lost) ASSERT_TRUE(peer.hear().value().mad);
  const auto question = peer.hear();
  ASSERT_TRUE(question && question->mad);
  EXPECT_EQ(question->mad->about, kPeerQpn);
  EXPECT_EQ(question->mad->asker, qp->qpn());
  peer.say(kOwn, wire::answer_to(*question->mad, wire::kDialectVersions));
  EXPECT_EQ(soon(*qp, Dialect::srnic), Dialect::srnic);
  const auto heard = peer.hear_packet();
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(wire::info(heard->packet.headers.bth.opcode).dialect, wire::Dialect::srnic);
  EXPECT_EQ(dialect_of(lane, *connected()), Dialect::srnic) << "what was said of one connection holds for the next";
}

TEST_F(Foreign, ACardOfAnotherVersionGetsRoce) {
  constexpr std::uint8_t kLater = wire::kDialectVersions.highest + 1;
  host::QueuePair* qp = connected_and_answered([](const wire::VendorMad& question) {
    return wire::answer_to(question, {kLater, kLater});
  });
  EXPECT_EQ(soon(*qp, Dialect::roce), Dialect::roce);
  expect_not_given_up();
}

TEST_F(Foreign, APeersQuestionIsAnsweredAndSettlesOurs) {
  host::QueuePair* qp = connected();
  const wire::VendorMad theirs{
      .transaction = 42, .versions = wire::kDialectVersions, .asker = kPeerQpn, .about = qp->qpn()};
  peer.say(kOwn, theirs);
  const auto heard = peer.hear_answer();
  ASSERT_TRUE(heard.has_value());
  constexpr wire::StarRoles kChooses{wire::StarRoles::kFollows | wire::StarRoles::kChooses};
  EXPECT_EQ(*heard->mad, wire::answer_to(theirs, wire::kDialectVersions, kChooses, 1));
  EXPECT_EQ(soon(*qp, Dialect::srnic), Dialect::srnic);
}

// The stranger asks first, and speaks roce alone. The peer asks behind it, and what it speaks is what is spoken.
TEST_F(Foreign, AStrangersQuestionSettlesNothing) {
  host::QueuePair* qp = lane.make_qp();
  constexpr std::uint8_t kLater = wire::kDialectVersions.highest + 1;
  wire::VendorMad question{
      .transaction = 42, .versions = {kLater, kLater}, .asker = wire::Qpn(kPeerQpn.raw() ^ 1), .about = qp->qpn()};
  {
    // The lane hears both when it goes on, one behind the other, and has had no time to give the peer up.
    const std::lock_guard busy(lane.lane.lock());
    lane.connect_with_lock_held(*qp, kPeer, kPeerQpn);
    peer.say(kOwn, question);
    question.versions = wire::kDialectVersions;
    question.asker = kPeerQpn;
    peer.say(kOwn, question);
    wait_for_broker();
    ASSERT_EQ(qp->context().dialect, Dialect::undecided);
  }
  EXPECT_EQ(soon(*qp, Dialect::srnic), Dialect::srnic);
}

TEST_F(Foreign, NobodySpeaksForAProgramThatIsNotThere) {
  const wire::VendorMad theirs{
      .transaction = 7, .versions = wire::kDialectVersions, .asker = kPeerQpn, .about = nobodys()};
  peer.say(kOwn, theirs);
  const auto heard = peer.hear();
  ASSERT_TRUE(heard && heard->mad);
  EXPECT_EQ(heard->mad->chosen, 0);
}

}  // namespace
}  // namespace weft::real
