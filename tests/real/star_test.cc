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

// ---- cards that choose, by how many connections each has

class StarByLoad : public testing::TestWithParam<WireChoice> {
 protected:
  static constexpr wire::Address kBusy = wire::Address::v4(127, 0, 8, 11), kClient = wire::Address::v4(127, 0, 8, 12);
  static Settings choosing(const wire::Address& address, std::uint32_t beyond) {
    Settings s = small_lane_at(address);
    s.wire = GetParam();
    s.max_qps = 64;
    s.stateless_beyond = beyond;
    return s;
  }
  struct Pair {
    host::QueuePair *busy, *client;
  };
  static Pair meet(TestLane& busy, TestLane& client, const wire::Address& at = kClient) {
    const Pair p{busy.make_qp(), client.make_qp()};
    busy.connect(*p.busy, at, p.client->qpn());
    client.connect(*p.client, kBusy, p.busy->qpn());
    return p;
  }
  // Both ways.
  static void exchange(TestLane& busy, TestLane& client, const Pair& p) {
    for (std::size_t i = 0; i < 5000; ++i) client.memory[i] = static_cast<std::byte>(i * 7 + p.busy->qpn().raw());
    client.write(*p.client, 0, 5000, 100'000, busy.key);
    EXPECT_EQ(client.wait().status, nic::Status::success);
    busy.write(*p.busy, 100'000, 5000, 200'000, client.key);
    EXPECT_EQ(busy.wait().status, nic::Status::success);
    EXPECT_TRUE(client.holds(200'000, client.memory.data(), 5000));
  }
  static StarRole role(TestLane& lane, const host::QueuePair& qp) {
    const std::lock_guard guard(lane.lane.lock());
    return qp.options().role;
  }
  static nic::Dialect dialect(TestLane& lane, const host::QueuePair& qp) {
    const std::lock_guard guard(lane.lane.lock());
    return qp.context().dialect;
  }
};

// That the one from before follows is moves_test.cc's to say.
TEST_P(StarByLoad, BeyondTheThresholdTheBusierCardKeepsNoStateAndTheOtherOneDoes) {
  TestLane busy(choosing(kBusy, 8)), client(choosing(kClient, 8));
  std::vector<host::QueuePair*> others;  // connections of whoever else
  for (int i = 0; i < 7; ++i) others.push_back(busy.make_qp());
  const Pair below = meet(busy, client);  // it has 8
  exchange(busy, client, below);
  EXPECT_EQ(role(busy, *below.busy), StarRole::none);
  EXPECT_EQ(dialect(busy, *below.busy), nic::Dialect::srnic);
  for (int i = 0; i < 3; ++i) {
    const Pair beyond = meet(busy, client);
    exchange(busy, client, beyond);
    EXPECT_EQ(role(busy, *beyond.busy), StarRole::stateless);
    EXPECT_EQ(role(client, *beyond.client), StarRole::stateful);
  }
  exchange(busy, client, below);  // and goes on beside them
}

// What stands in a stateless connection's place on the card is what stands in a free one.
TEST_P(StarByLoad, TheCardHasNothingOfAConnectionThatItKeepsNoStateFor) {
  TestLane busy(choosing(kBusy, 1)), client(choosing(kClient, 1));
  host::QueuePair* const other = busy.make_qp();
  const auto place = [&](const host::QueuePair& qp) {
    const std::lock_guard guard(busy.lane.lock());
    const auto all = busy.lane.device().card().contexts.bytes();
    const auto one = all.subspan(std::size_t{qp.slot()} * sizeof(nic::Context), sizeof(nic::Context));
    return std::vector<std::byte>(one.begin(), one.end());
  };
  const Pair p = meet(busy, client);
  exchange(busy, client, p);
  EXPECT_EQ(place(*p.busy), std::vector<std::byte>(sizeof(nic::Context)));
  EXPECT_NE(place(*other), std::vector<std::byte>(sizeof(nic::Context)));
}

TEST_P(StarByLoad, AResetQueuePairMayChooseAnew) {
  TestLane busy(choosing(kBusy, 1)), client(choosing(kClient, 1));
  host::QueuePair* const other = busy.make_qp();
  const Pair p = meet(busy, client);
  exchange(busy, client, p);
  const wire::Qpn number = p.busy->qpn();
  for (auto [lane, qp] : {std::pair(&busy, p.busy), std::pair(&client, p.client)}) {
    const std::lock_guard guard(lane->lane.lock());
    EXPECT_EQ(qp->modify({.state = nic::QpState::reset}, host::QpMask::state), host::Error::none);
    EXPECT_EQ(qp->options().role, StarRole::none);
    EXPECT_EQ(qp->block(), nullptr);
    if (lane == &busy) {
      EXPECT_EQ(busy.lane.device().destroy(other), host::Error::none);
    }
  }
  busy.connect(*p.busy, kClient, p.client->qpn());
  client.connect(*p.client, kBusy, p.busy->qpn());
  exchange(busy, client, p);
  EXPECT_EQ(p.busy->qpn(), number);
  EXPECT_EQ(role(busy, *p.busy), StarRole::none) << "one connection is not beyond the threshold";
  EXPECT_EQ(dialect(busy, *p.busy), nic::Dialect::srnic);
}

// A client that has decided for srnic, and has sent in it, takes the state with all that it has posted.
TEST_P(StarByLoad, WhoHasSentAlreadyBeginsAnewInStar) {
  TestLane busy(choosing(kBusy, 1)), client(choosing(kClient, 1));
  host::QueuePair *const other = busy.make_qp(), *qb = busy.make_qp(), *qc = client.make_qp();
  ASSERT_NE(other, nullptr);
  client.connect(*qc, kBusy, qb->qpn());
  for (std::size_t i = 0; i < 60'000; ++i) client.memory[i] = static_cast<std::byte>(i * 13);
  client.write(*qc, 0, 60'000, 100'000, busy.key);
  EXPECT_EQ(dialect(client, *qc), nic::Dialect::srnic);
  busy.connect(*qb, kClient, qc->qpn());
  EXPECT_EQ(client.wait().status, nic::Status::success);
  EXPECT_TRUE(busy.holds(100'000, client.memory.data(), 60'000));
}

TEST_P(StarByLoad, APeerThatDoesNotKnowStarGetsSrnicOrRoce) {
  for (const TransportChoice speaks : {TransportChoice::roce, TransportChoice::srnic}) {
    Settings told = choosing(kClient, 1);
    told.transport = speaks;
    TestLane busy(choosing(kBusy, 1)), client(told);
    host::QueuePair* const other = busy.make_qp();
    ASSERT_NE(other, nullptr);
    const Pair p = meet(busy, client);
    exchange(busy, client, p);
    EXPECT_EQ(role(busy, *p.busy), StarRole::none);
    EXPECT_EQ(dialect(busy, *p.busy), speaks == TransportChoice::roce ? nic::Dialect::roce : nic::Dialect::srnic);
  }
}

// A stateless side cannot share receives: what cannot be stateless stays what it is.
TEST_P(StarByLoad, AQueuePairWithASharedReceiveQueueStaysAsItIs) {
  TestLane busy(choosing(kBusy, 1)), client(choosing(kClient, 1));
  host::QueuePair *const other = busy.make_qp(), *const qc = client.make_qp();
  ASSERT_NE(other, nullptr);
  host::QueuePair* qb = nullptr;
  {
    const std::lock_guard guard(busy.lane.lock());
    host::Device& device = busy.lane.device();
    qb = device
             .create_qp(busy.domain, {.signal_all = true,
                                      .send_cq = busy.cq,
                                      .receive_cq = busy.cq,
                                      .srq = device.create_srq(busy.domain, 16, 1).value()})
             .value();
  }
  busy.connect(*qb, kClient, qc->qpn());
  client.connect(*qc, kBusy, qb->qpn());
  exchange(busy, client, {qb, qc});
  EXPECT_EQ(role(busy, *qb), StarRole::none);
}

// What a program was told counts, and who may choose plays the other part, however few connections it has.
TEST_P(StarByLoad, AServerThatWasToldNothingIsStatelessForAClientThatIsAlwaysStateful) {
  Settings told = playing(StarRole::stateful, kClient, GetParam());
  TestLane busy(choosing(kBusy, 0)), client(told);
  const Pair p = meet(busy, client);
  exchange(busy, client, p);
  EXPECT_EQ(role(busy, *p.busy), StarRole::stateless);
}

// Each believed that it is the much busier one. One of them takes the state of both.
TEST_P(StarByLoad, TwoThatOfferEachOtherTheirStateAgree) {
  TestLane a(choosing(kBusy, 1)), b(choosing(kClient, 1));
  ASSERT_TRUE(a.lane.play(StarRole::stateless) && b.lane.play(StarRole::stateless));
  for (int round = 0; round < 8; ++round) {
    host::QueuePair *const qa = a.make_qp(), *const qb = b.make_qp();
    const auto offers = [](TestLane& lane, host::QueuePair& qp, const wire::Address& peer, wire::Qpn peer_qpn) {
      using M = host::QpMask;
      const std::lock_guard guard(lane.lane.lock());
      host::QpAttributes to{.state = nic::QpState::init, .peer = peer, .mtu = 4096, .peer_qpn = peer_qpn};
      to.rights = nic::Rights::remote_write;
      ASSERT_EQ(qp.modify(to, M::state | M::pkey_index | M::port | M::rights), host::Error::none);
      to.state = nic::QpState::rtr;
      const std::uint32_t rtr = M::path | M::mtu | M::peer_qpn | M::receive_psn | M::max_peer_reads | M::min_rnr_timer;
      ASSERT_EQ(qp.modify(to, M::state | rtr), host::Error::none);
      to.state = nic::QpState::rts;
      const std::uint32_t rts = M::ack_timeout | M::retry_count | M::rnr_retry | M::max_reads | M::send_psn;
      ASSERT_EQ(qp.modify(to, M::state | rts), host::Error::none);
      qp.become_stateless();
      ASSERT_TRUE(qp.is_offered());
    };
    offers(a, *qa, kClient, qb->qpn());
    offers(b, *qb, kBusy, qa->qpn());
    exchange(a, b, {qa, qb});
    const bool a_is_lower = qa->qpn().raw() < qb->qpn().raw();
    EXPECT_EQ(role(a, *qa), a_is_lower ? StarRole::stateful : StarRole::stateless);
    EXPECT_EQ(role(b, *qb), a_is_lower ? StarRole::stateless : StarRole::stateful);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, StarByLoad, testing::Values(WireChoice::udp, WireChoice::automatic),
                         [](const auto& p) { return std::string(p.param == WireChoice::udp ? "udp" : "shm"); });

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
