// StaR between lanes of one host: what arrives at its ports and through rings, and peers that do not speak it.
#include <numeric>

#include <gtest/gtest.h>

#include "foreign_peer.h"
#include "lanes.h"
#include "nic/star/link.h"
#include "world/real/broker/broker_client.h"

namespace weft::real {
namespace {

using host::StarRole;

Settings playing(StarRole role, const wire::Address& address, WireChoice wire = WireChoice::udp,
                 const char* loss = nullptr) {
  Settings s = small_lane_at(address);
  s.wire = wire;
  s.transport = role == StarRole::none ? TransportChoice::roce : TransportChoice::star;
  s.role = role;
  if (loss != nullptr) {
    EXPECT_EQ(s.impairments.set("loss", loss), "");
    s.seed = address.bytes[15];
  }
  return s;
}

class Star : public testing::TestWithParam<std::tuple<WireChoice, const char*>> {
 protected:
  static constexpr wire::Address kA = wire::Address::v4(127, 0, 8, 1), kB = wire::Address::v4(127, 0, 8, 2);
  static Settings playing_here(StarRole role, const wire::Address& address) {
    return playing(role, address, std::get<0>(GetParam()), std::get<1>(GetParam()));
  }
  void connect() {
    a.connect(*qa, kB, qb->qpn());
    b.connect(*qb, kA, qa->qpn());
  }

  TestLane a{playing_here(StarRole::stateful, kA)}, b{playing_here(StarRole::stateless, kB)};
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
};

TEST_P(Star, CarriesWhatEitherSideWrites) {
  connect();
  for (std::size_t i = 0; i < 60'000; ++i) a.memory[i] = static_cast<std::byte>(i * 31);
  a.write(*qa, 0, 60'000, 200'000, b.key);
  EXPECT_EQ(a.wait().status, nic::Status::success);
  b.write(*qb, 200'000, 60'000, 400'000, a.key);
  EXPECT_EQ(b.wait().status, nic::Status::success);
  EXPECT_TRUE(a.holds(400'000, a.memory.data(), 60'000));
}

// Nobody polls: the lane's thread sees to packets and to the timers of what was posted.
TEST_P(Star, NeedsNobodyToPoll) {
  connect();
  b.write(*qb, 0, 5000, 100'000, a.key);
  EXPECT_EQ(b.wait(false).status, nic::Status::success);
  a.write(*qa, 0, 5000, 200'000, b.key);
  EXPECT_EQ(a.wait(false).status, nic::Status::success);
}

TEST_P(Star, AQueuePairThatIsMadeAnewWorksAsTheFirst) {
  for (int round = 0; round < 3; ++round) {
    connect();
    b.write(*qb, 0, 5000, 100'000, a.key);
    EXPECT_EQ(b.wait().status, nic::Status::success);
    for (auto [lane, qp] : {std::pair(&a, qa), std::pair(&b, qb)}) {
      const std::lock_guard guard(lane->lane.lock());
      if (round == 0) {
        EXPECT_EQ(qp->modify({.state = nic::QpState::reset}, host::QpMask::state), host::Error::none);
      } else {
        EXPECT_EQ(lane->lane.device().destroy(qp), host::Error::none);
      }
    }
    if (round > 0) qa = a.make_qp();
    if (round > 0) qb = b.make_qp();
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Star,
                         testing::Combine(testing::Values(WireChoice::udp, WireChoice::automatic),
                                          testing::Values(static_cast<const char*>(nullptr), "5%")),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param) == WireChoice::udp ? "udp" : "shm") +
                                  (std::get<1>(p.param) != nullptr ? "_loss" : "");
                         });

// A card of each kind keeps what it has while connections of others come and go.
TEST(StarContexts, AreThoseOfTheStatefulSideAlone) {
  constexpr wire::Address kA = wire::Address::v4(127, 0, 8, 3), kB = wire::Address::v4(127, 0, 8, 4);
  TestLane a(playing(StarRole::stateful, kA)), b(playing(StarRole::stateless, kB));
  const auto bytes = [&] {
    const std::lock_guard guard(b.lane.lock());
    const auto all = b.lane.device().card().contexts.bytes();
    return std::vector<std::byte>(all.begin(), all.end());
  };
  const std::vector<std::byte> before = bytes();
  for (int i = 0; i < 10; ++i) {
    host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
    a.connect(*qa, kB, qb->qpn());
    b.connect(*qb, kA, qa->qpn());
    b.write(*qb, 0, 5000, 100'000, a.key);
    EXPECT_EQ(b.wait().status, nic::Status::success);
  }
  EXPECT_EQ(bytes(), before);
}

// A client that was told nothing keeps the state for a server that was told to keep none.
TEST(StarByAgreement, WhoWasToldNothingFollowsAPeerThatIsAlwaysStateless) {
  constexpr wire::Address kA = wire::Address::v4(127, 0, 8, 8), kB = wire::Address::v4(127, 0, 8, 9);
  for (const WireChoice wire : {WireChoice::udp, WireChoice::automatic}) {
    Settings untold = small_lane_at(kA);
    untold.wire = wire;
    TestLane a(untold), b(playing(StarRole::stateless, kB, wire));
    host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
    for (int round = 0; round < 2; ++round) {
      a.connect(*qa, kB, qb->qpn());
      b.connect(*qb, kA, qa->qpn());
      a.write(*qa, 0, 60'000, 200'000, b.key);
      EXPECT_EQ(a.wait().status, nic::Status::success);
      b.write(*qb, 200'000, 60'000, 400'000, a.key);
      EXPECT_EQ(b.wait().status, nic::Status::success);
      EXPECT_EQ(qa->options().role, StarRole::stateful);
      for (auto [lane, qp] : {std::pair(&a, qa), std::pair(&b, qb)}) {
        const std::lock_guard guard(lane->lane.lock());
        EXPECT_EQ(qp->modify({.state = nic::QpState::reset}, host::QpMask::state), host::Error::none);
      }
      EXPECT_EQ(qa->options().role, StarRole::none) << "until it is reset";
    }
    // Beside it, the same card speaks srnic with others.
    TestLane c(small_lane_at(wire::Address::v4(127, 0, 8, 10)));
    host::QueuePair *q1 = a.make_qp(), *q2 = c.make_qp();
    a.connect(*q1, wire::Address::v4(127, 0, 8, 10), q2->qpn());
    c.connect(*q2, kA, q1->qpn());
    a.write(*q1, 0, 5000, 200'000, c.key);
    EXPECT_EQ(a.wait().status, nic::Status::success);
    EXPECT_EQ(q1->context().dialect, nic::Dialect::srnic);
  }
}

// ---- peers that do not play the other role

class NoPartner : public testing::Test {
 protected:
  static constexpr wire::Address kOwn = wire::Address::v4(127, 0, 8, 5), kPeer = wire::Address::v4(127, 0, 8, 6),
                                 kSilent = wire::Address::v4(127, 0, 8, 7);

  // It learns who its peer is.
  static void ready_to_receive(TestLane& lane, host::QueuePair& qp, const wire::Address& peer, wire::Qpn peer_qpn) {
    using M = host::QpMask;
    const std::lock_guard guard(lane.lane.lock());
    host::QpAttributes a{.state = nic::QpState::init};
    ASSERT_EQ(qp.modify(a, M::state | M::pkey_index | M::port | M::rights), host::Error::none);
    a.state = nic::QpState::rtr;
    a.peer = peer;
    a.peer_qpn = peer_qpn;
    ASSERT_EQ(
        qp.modify(a, M::state | M::path | M::mtu | M::peer_qpn | M::receive_psn | M::max_peer_reads | M::min_rnr_timer),
        host::Error::none);
    lane.lane.rang();
  }
  static void receive(TestLane& lane, host::QueuePair& qp) {
    const std::lock_guard guard(lane.lane.lock());
    const nic::Sge sge{0, 64, lane.key};
    ASSERT_EQ(qp.post_receive({.id = 7, .sges = {&sge, 1}}), host::Error::none);
    lane.lane.rang();
  }
  static std::uint64_t counted(TestLane& lane, Refusal why) {
    const std::lock_guard guard(lane.lane.lock());
    return lane.lane.device().card().counters.get(why);
  }
  // Whoever waits for a message is told, too, and not only who sends.
  static void expect_broken(TestLane& lane, host::QueuePair& qp) {
    EXPECT_EQ(lane.wait(false).status, nic::Status::flushed);
    EXPECT_EQ(counted(lane, Refusal::star_no_partner), 1U);
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard guard(lane.lane.lock());
      return lane.async_events > 0;
    }));
    const std::lock_guard guard(lane.lane.lock());
    EXPECT_EQ(qp.state(), nic::QpState::error);
    EXPECT_EQ(qp.context().broken_by, Refusal::star_no_partner);
  }
};

TEST_F(NoPartner, star_no_partner) {
  for (const StarRole role : {StarRole::stateless, StarRole::stateful}) {
    for (const StarRole theirs : {role, StarRole::none}) {
      TestLane own(playing(role, kOwn)), peer(playing(theirs, kPeer));
      host::QueuePair *qp = own.make_qp(), *other = peer.make_qp();
      ready_to_receive(own, *qp, kPeer, other->qpn());
      EXPECT_EQ(counted(own, Refusal::star_no_partner), 1U);
      const std::lock_guard guard(own.lane.lock());
      EXPECT_EQ(qp->state(), nic::QpState::error);
      EXPECT_EQ(qp->context().broken_by, Refusal::star_no_partner);
    }
  }
}

// One that never says what it is, and is not of this host.
TEST_F(NoPartner, IsFoundOutBySilence) {
  ForeignPeer silent(kSilent);
  for (const StarRole role : {StarRole::stateless, StarRole::stateful}) {
    TestLane own(playing(role, kOwn));
    host::QueuePair* qp = own.make_qp();
    ready_to_receive(own, *qp, kSilent, wire::Qpn(9U << 17 | 77));
    receive(own, *qp);
    expect_broken(own, *qp);
  }
}

}  // namespace
}  // namespace weft::real
