#include "world/real/lane/negotiation.h"

#include <vector>

#include <gtest/gtest.h>

#include "world/real/broker/messages.h"
#include "world/real/os/time.h"

namespace weft::real {
namespace {

using Outcome = Negotiation::Outcome;

constexpr wire::Address kHere = wire::Address::v4(10, 0, 0, 1), kThere = wire::Address::v4(10, 0, 0, 2);
constexpr wire::DialectVersions kOurs = wire::kDialectVersions, kRoceOnly{};

wire::Qpn number(std::uint8_t lane_number, std::uint32_t low = 5) {
  return wire::Qpn(std::uint32_t{lane_number} << wire::kLaneShift | low);
}

Negotiation::Connection connection(std::uint8_t own_place = 1, std::uint8_t peer_place = 2) {
  return {.own_address = kHere, .peer_address = kThere, .own = number(own_place), .peer = number(peer_place)};
}

// One card, what it sends, and what it has settled.
struct Side {
  explicit Side(wire::DialectVersions versions = kOurs) : negotiation(versions) {}

  Outcome wants(Time now, const Negotiation::Connection& c) {
    Outcome o = negotiation.find(now, Negotiation::peer_of(c));
    if (o == Outcome::unknown) o = negotiation.ask(now, c, ++transactions);
    pass(now);
    return o;
  }
  void pass(Time now) {
    negotiation.on_time(
        now, [&](const Negotiation::Question& q) { asked.push_back(q); },
        [&](const Negotiation::Settled& s) { settled.push_back(s); });
  }
  Outcome answered(Time now, const wire::DialectVersions& by, std::size_t question = 0) {
    return negotiation.on_answer(now, kThere, wire::answer_to(asked.at(question).mad, by)).outcome;
  }
  // Until it has nothing left to do. When that was.
  Time exhaust(Time now) {
    for (; negotiation.next_deadline() != kNever; pass(now)) now = std::max(now, negotiation.next_deadline());
    return now;
  }

  Negotiation negotiation;
  std::uint64_t transactions = 100;
  std::vector<Negotiation::Question> asked;
  std::vector<Negotiation::Settled> settled;
};

TEST(Negotiation, AsksThePeerAndGoesByItsAnswer) {
  Side side;
  EXPECT_EQ(side.wants(0, connection()), Outcome::waiting);
  ASSERT_EQ(side.asked.size(), 1U);
  EXPECT_EQ(side.asked[0].to, kThere);
  EXPECT_EQ(side.asked[0].mad.about, number(2));
  EXPECT_EQ(side.asked[0].mad.asker, number(1));
  EXPECT_EQ(side.answered(milliseconds(1), kOurs), Outcome::srnic);
  EXPECT_EQ(side.negotiation.next_deadline(), kNever);
  EXPECT_EQ(side.wants(milliseconds(2), connection()), Outcome::srnic);
}

// A card that knows nothing of calls says zero there, and one of another make says nothing.
TEST(Negotiation, LearnsWhetherThePeersKernelsMayBeCalled) {
  Side side;
  ASSERT_EQ(side.wants(0, connection()), Outcome::waiting);
  EXPECT_EQ(side.asked.at(0).mad.calls, wire::kCallVersion);
  wire::VendorMad answer = wire::answer_to(side.asked[0].mad, kOurs);
  EXPECT_EQ(answer.calls, wire::kCallVersion);
  EXPECT_EQ(side.negotiation.on_answer(0, kThere, answer).calls, wire::kCallVersion);
  const Negotiation::Peer peer = Negotiation::peer_of(connection());
  EXPECT_EQ(side.negotiation.facts_of(0, peer).calls, wire::kCallVersion);

  ASSERT_EQ(side.wants(0, connection(1, 3)), Outcome::waiting);
  answer = wire::answer_to(side.asked.at(1).mad, kOurs);
  answer.calls = 0;
  EXPECT_EQ(side.negotiation.on_answer(0, kThere, answer).calls, 0);

  Side other;
  ASSERT_EQ(other.wants(0, connection()), Outcome::waiting);
  other.exhaust(0);
  ASSERT_EQ(other.settled.size(), 1U);
  EXPECT_EQ(other.settled[0].calls, 0);
  EXPECT_EQ(other.negotiation.facts_of(0, peer).calls, 0);
}

// The peer may be on this host, where only the broker can tell, and it answers the wire no sooner.
TEST(Negotiation, GivesNobodyUpWhileTheBrokerIsLate) {
  Side side;
  const auto ask = [&](std::uint8_t peer_place, std::uint64_t transaction) {
    return side.negotiation.ask(0, connection(1, peer_place), transaction, Negotiation::Broker::is_late);
  };
  ASSERT_EQ(ask(2, 1), Outcome::waiting);
  ASSERT_EQ(ask(3, 2), Outcome::waiting);
  for (Time now = 0; now < seconds(2); now += milliseconds(1)) side.pass(now);
  EXPECT_EQ(side.asked.size(), 2 * Negotiation::kTries);
  EXPECT_TRUE(side.settled.empty());
  EXPECT_EQ(side.negotiation.learn(seconds(2), {kThere.bytes, 2}, kOurs).outcome, Outcome::srnic);
  side.negotiation.broker_does_not_know(seconds(2), {kThere.bytes, 3});
  side.pass(seconds(2));
  ASSERT_EQ(side.settled.size(), 1U);
  EXPECT_EQ(side.settled[0].outcome, Outcome::roce);
  EXPECT_EQ(side.negotiation.next_deadline(), kNever);
}

TEST(Negotiation, DoesNotWaitForTheBrokerForEver) {
  Side side;
  ASSERT_EQ(side.negotiation.ask(0, connection(), 1, Negotiation::Broker::is_late), Outcome::waiting);
  EXPECT_EQ(side.exhaust(0), Negotiation::kBrokerWithin);
  ASSERT_EQ(side.settled.size(), 1U);
  EXPECT_EQ(side.settled[0].outcome, Outcome::roce);
}

TEST(Negotiation, AsksOnceForThousandsOfConnections) {
  Side side;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    Negotiation::Connection c = connection();
    c.own = number(1, i);
    c.peer = number(2, i);
    EXPECT_EQ(side.wants(0, c), Outcome::waiting);
  }
  EXPECT_EQ(side.asked.size(), 1U);
  EXPECT_EQ(side.answered(0, kOurs), Outcome::srnic);
  EXPECT_EQ(side.wants(1, connection()), Outcome::srnic);
  EXPECT_EQ(side.asked.size(), 1U);
}

TEST(Negotiation, TakesNoForAnAnswerFromACardThatSpeaksRoceOnly) {
  Side side;
  (void)side.wants(0, connection());
  EXPECT_EQ(side.answered(0, kRoceOnly), Outcome::roce);
  EXPECT_EQ(side.wants(1, connection()), Outcome::roce);
}

TEST(Negotiation, OldAndNewVersionsWithNothingInCommonSpeakRoceWhoeverAsks) {
  for (const auto& [one, other] :
       {std::pair{kOurs, wire::DialectVersions{4, 5}}, {wire::DialectVersions{1, 2}, kOurs}}) {
    Side asker(one), asked(other);
    (void)asker.wants(0, connection());
    EXPECT_EQ(asker.answered(0, other), Outcome::roce);
    EXPECT_EQ(asked.negotiation.on_question(0, kHere, asker.asked[0].mad).outcome, Outcome::roce);
  }
}

TEST(Negotiation, VersionsThatOverlapAgree) {
  Side asker({1, 3}), asked({2, 4});
  (void)asker.wants(0, connection());
  EXPECT_EQ(asker.answered(0, {2, 4}), Outcome::srnic);
  EXPECT_EQ(asked.negotiation.on_question(0, kHere, asker.asked[0].mad).outcome, Outcome::srnic);
}

TEST(Negotiation, AsksAgainWhenQuestionOrAnswerIsLost) {
  Side side;
  (void)side.wants(0, connection());
  for (std::uint32_t lost = 1; lost < Negotiation::kTries; ++lost) {
    const Time due = side.negotiation.next_deadline();
    EXPECT_EQ(due, Negotiation::kFirstWait * ((1 << lost) - 1));
    side.pass(due - 1);
    EXPECT_EQ(side.asked.size(), lost) << "not before its time";
    side.pass(due);
    EXPECT_EQ(side.asked.size(), lost + 1);
  }
  EXPECT_EQ(side.answered(side.negotiation.next_deadline() - 1, kOurs, 4), Outcome::srnic);
}

TEST(Negotiation, ASilentPeerGetsRoceAndOnlyTheFirstConnectionWaits) {
  Side side;
  EXPECT_EQ(side.wants(0, connection()), Outcome::waiting);
  const Time end = side.exhaust(0);
  EXPECT_EQ(end, Negotiation::kFirstWait * 31);
  ASSERT_EQ(side.settled.size(), 1U);
  EXPECT_EQ(side.settled[0].outcome, Outcome::roce);
  EXPECT_TRUE(side.settled[0].all_lanes) << "a foreign card's numbers say nothing of lanes";
  EXPECT_EQ(side.wants(end + seconds(1), connection(1, 77)), Outcome::roce) << "another lane of the same address";
  EXPECT_EQ(side.asked.size(), Negotiation::kTries);
  // Much later it is asked again, and nobody waits.
  EXPECT_EQ(side.wants(end + seconds(60), connection()), Outcome::roce);
  EXPECT_EQ(side.asked.size(), Negotiation::kTries + 1);
  EXPECT_EQ(side.wants(end + seconds(60), connection()), Outcome::roce);
  EXPECT_EQ(side.asked.size(), Negotiation::kTries + 1);
  // It has become a Weft card.
  EXPECT_EQ(side.answered(end + seconds(60), kOurs, Negotiation::kTries), Outcome::srnic);
  EXPECT_EQ(side.wants(end + seconds(60), connection()), Outcome::srnic);
}

TEST(Negotiation, AllThatWaitForASilentAddressAreLetGoTogether) {
  Side side;
  (void)side.wants(0, connection(1, 2));
  for (Time now = 0; now < milliseconds(300); now += milliseconds(10)) side.pass(now);
  (void)side.wants(milliseconds(300), connection(1, 3));
  side.pass(milliseconds(310));
  ASSERT_EQ(side.settled.size(), 1U);
  EXPECT_TRUE(side.settled[0].all_lanes);
  EXPECT_EQ(side.negotiation.next_deadline(), kNever);
}

// Linux answers what it does not know, with the question's own words and a status.
TEST(Negotiation, WhoDoesNotKnowTheQuestionSpeaksRoceAtOnce) {
  Side side;
  (void)side.wants(0, connection());
  wire::VendorMad answer = side.asked[0].mad;
  answer.is_answer = true;
  answer.status = 0x000C;
  const Negotiation::Settled settled = side.negotiation.on_answer(1, kThere, answer);
  EXPECT_EQ(settled.outcome, Outcome::roce);
  EXPECT_TRUE(settled.all_lanes);
  EXPECT_EQ(side.wants(2, connection(1, 9)), Outcome::roce);
}

TEST(Negotiation, AQuestionTellsWhatTheAskerSpeaks) {
  Side asker, asked;
  (void)asker.wants(0, connection(1, 2));
  const Negotiation::Settled settled = asked.negotiation.on_question(0, kHere, asker.asked[0].mad);
  EXPECT_EQ(settled.outcome, Outcome::srnic);
  EXPECT_EQ(settled.peer, (Negotiation::Peer{kHere.bytes, 1}));
  EXPECT_EQ(asked.negotiation.find(1, settled.peer), Outcome::srnic) << "it need not ask, when its turn comes";
}

TEST(Negotiation, AQuestionSettlesWhatTheAskedWasAskingItself) {
  Side side;
  (void)side.wants(0, connection(1, 2));
  const wire::VendorMad theirs{.transaction = 1, .versions = kOurs, .asker = number(2), .about = number(1)};
  EXPECT_EQ(side.negotiation.on_question(1, kThere, theirs).outcome, Outcome::srnic);
  EXPECT_EQ(side.negotiation.next_deadline(), kNever) << "no need to ask again";
  EXPECT_EQ(side.answered(2, kOurs), Outcome::unknown) << "the late answer changes nothing";
}

TEST(Negotiation, AQuestionFromASilentAddressBreaksTheSilence) {
  Side side;
  (void)side.wants(0, connection());
  const Time end = side.exhaust(0);
  const wire::VendorMad theirs{.transaction = 1, .versions = kOurs, .asker = number(2), .about = number(1)};
  (void)side.negotiation.on_question(end, kThere, theirs);
  EXPECT_EQ(side.wants(end, connection()), Outcome::srnic);
}

// Another program may have the lane number by then, with another --transport.
TEST(Negotiation, WhatIsKnownDoesNotOutliveThePlacesOwner) {
  Side side;
  (void)side.wants(0, connection());
  (void)side.answered(milliseconds(200), kOurs);
  EXPECT_EQ(side.wants(Negotiation::kCertain - 1, connection()), Outcome::srnic);
  EXPECT_EQ(side.wants(Negotiation::kCertain, connection()), Outcome::waiting) << "counted from the question";
  EXPECT_EQ(side.answered(Negotiation::kCertain, kRoceOnly, 1), Outcome::roce);
}

TEST(Negotiation, NobodyElsesAnswerCounts) {
  Side side;
  (void)side.wants(0, connection());
  wire::VendorMad answer = wire::answer_to(side.asked[0].mad, kOurs);
  EXPECT_EQ(side.negotiation.on_answer(0, kHere, answer).outcome, Outcome::unknown) << "of another address";
  answer.transaction ^= 1;
  EXPECT_EQ(side.negotiation.on_answer(0, kThere, answer).outcome, Outcome::unknown) << "to another question";
  answer.transaction ^= 1;
  answer.about = number(3);
  EXPECT_EQ(side.negotiation.on_answer(0, kThere, answer).outcome, Outcome::unknown) << "about another lane";
}

TEST(Negotiation, ALocalPeerNeedsNoQuestion) {
  Side side;
  EXPECT_EQ(side.negotiation.learn(0, {kThere.bytes, 2}, kOurs).outcome, Outcome::srnic);
  EXPECT_EQ(side.negotiation.learn(0, {kThere.bytes, 3}, kRoceOnly).outcome, Outcome::roce);
  EXPECT_EQ(side.wants(1, connection(1, 2)), Outcome::srnic);
  EXPECT_EQ(side.wants(1, connection(1, 3)), Outcome::roce);
  EXPECT_TRUE(side.asked.empty());
}

// ---- roles of StaR

constexpr wire::StarRoles kStateless{wire::StarRoles::kStateless}, kStateful{wire::StarRoles::kStateful};

TEST(NegotiationOfRoles, QuestionAndAnswerTellThem) {
  Side asker, asked;
  asker.negotiation.set_roles(kStateless);
  (void)asker.wants(0, connection());
  const wire::VendorMad question = asker.asked.at(0).mad;
  EXPECT_EQ(question.roles, kStateless);
  EXPECT_EQ(asked.negotiation.on_question(0, kHere, question).roles, kStateless);
  const Negotiation::Settled settled =
      asker.negotiation.on_answer(1, kThere, wire::answer_to(question, kRoceOnly, kStateful));
  EXPECT_EQ(settled.roles, kStateful);
  EXPECT_TRUE(asker.negotiation.facts_of(1, settled.peer).roles.has(wire::StarRoles::kStateful));
  EXPECT_FALSE(asker.negotiation.facts_of(1, settled.peer).roles.has(wire::StarRoles::kStateless));
}

TEST(NegotiationOfRoles, ALocalPeersAreWhatTheBrokerSays) {
  Side side;
  const Negotiation::Peer peer{kThere.bytes, 2};
  EXPECT_EQ(side.negotiation.learn(0, peer, kRoceOnly, {kStateful}).roles, kStateful);
  EXPECT_TRUE(side.negotiation.facts_of(0, peer).roles.has(wire::StarRoles::kStateful));
  EXPECT_FALSE(side.negotiation.facts_of(Negotiation::kCertain, peer).roles.has(wire::StarRoles::kStateful))
      << "another's by now";
}

TEST(NegotiationOfRoles, WhoIsSilentPlaysNone) {
  Side side;
  (void)side.wants(0, connection());
  EXPECT_TRUE(side.negotiation.is_asking({kThere.bytes, 2}));
  (void)side.exhaust(0);
  ASSERT_EQ(side.settled.size(), 1U);
  EXPECT_TRUE(side.settled[0].all_lanes);
  EXPECT_FALSE(side.settled[0].roles.any());
  EXPECT_FALSE(side.negotiation.is_asking({kThere.bytes, 2}));
}

TEST(NegotiationOfRoles, AnswersQuestionsAndTheBrokerTellHowManyConnectionsAPeerHas) {
  Side asker, asked;
  (void)asker.wants(0, connection());
  wire::VendorMad question = asker.asked.at(0).mad;
  question.connections = 1000;
  EXPECT_EQ(asked.negotiation.on_question(0, kHere, question).connections, 1000U);
  const wire::VendorMad answer = wire::answer_to(question, kOurs, {}, 2000);
  EXPECT_EQ(asker.negotiation.on_answer(1, kThere, answer).connections, 2000U);
  EXPECT_EQ(asker.negotiation.facts_of(1, {kThere.bytes, 2}).connections, 2000U);
  EXPECT_EQ(asker.negotiation.learn(2, {kThere.bytes, 3}, kOurs, {{}, 3000}).connections, 3000U);
}

// It may have begun to play one since: who needs it asks again.
TEST(NegotiationOfRoles, OneThatWasNotPlayedIsAskedForAgain) {
  Side side;
  (void)side.wants(0, connection());
  (void)side.negotiation.on_answer(1, kThere, wire::answer_to(side.asked.at(0).mad, kOurs));
  EXPECT_FALSE(side.negotiation.facts_of(1, {kThere.bytes, 2}).roles.has(wire::StarRoles::kStateful));
  EXPECT_EQ(side.negotiation.ask(2, connection(), 7), Outcome::waiting);
  side.pass(2);
  ASSERT_EQ(side.asked.size(), 2U);
  EXPECT_EQ(side.negotiation.on_answer(3, kThere, wire::answer_to(side.asked[1].mad, kOurs, kStateful)).roles,
            kStateful);
}

TEST(Negotiation, RemembersNoMoreThanItHasRoomFor) {
  Side side;
  for (std::uint32_t i = 0; i < 3 * Negotiation::kMaxPeers; ++i) {
    Negotiation::Connection c = connection();
    c.peer_address = wire::Address::v4(10, 1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i));
    const Outcome o = side.wants(0, c);
    EXPECT_EQ(o, i < Negotiation::kMaxPeers ? Outcome::waiting : Outcome::roce);
  }
  (void)side.exhaust(0);
  EXPECT_EQ(side.settled.size(), Negotiation::kMaxPeers) << "none waits for ever";
}

}  // namespace
}  // namespace weft::real
