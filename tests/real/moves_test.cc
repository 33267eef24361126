// Connections that run while their lane's count of connections crosses the threshold, both ways: they become StaR's and
// come back, and not a byte of what is written all the while is lost, or comes twice.
#include <gtest/gtest.h>

#include "lanes.h"

namespace weft::real {
namespace {

using host::StarRole;

constexpr wire::Address kBusy = wire::Address::v4(127, 0, 8, 21), kClient = wire::Address::v4(127, 0, 8, 22);
constexpr std::uint32_t kBeyond = 8;

struct Weather {
  WireChoice wire;
  const char* loss;
};

class Moves : public testing::TestWithParam<Weather> {
 protected:
  static Settings choosing(const wire::Address& address) {
    Settings s = small_lane_at(address);
    s.wire = GetParam().wire;
    s.max_qps = 64;
    s.stateless_beyond = kBeyond;
    if (GetParam().loss != nullptr) {
      EXPECT_EQ(s.impairments.set("loss", GetParam().loss), "");
      s.seed = address.bytes[15];
    }
    return s;
  }
  struct Pair {
    host::QueuePair *busy, *client;
  };
  Pair meet() {
    const Pair p{busy.make_qp(), client.make_qp()};
    busy.connect(*p.busy, kClient, p.client->qpn());
    client.connect(*p.client, kBusy, p.busy->qpn());
    return p;
  }
  // Something new, there and back.
  void exchange(const Pair& p) {
    ++round_;
    for (std::size_t i = 0; i < 5000; ++i) {
      client.memory[i] = static_cast<std::byte>(i * 7 + round_ * 13 + p.busy->qpn().raw());
    }
    client.write(*p.client, 0, 5000, 100'000, busy.key);
    ASSERT_EQ(client.wait().status, nic::Status::success);
    busy.write(*p.busy, 100'000, 5000, 200'000, client.key);
    ASSERT_EQ(busy.wait().status, nic::Status::success);
    ASSERT_TRUE(client.holds(200'000, client.memory.data(), 5000));
  }
  // Writes until both sides play these roles.
  void exchange_until(const Pair& p, StarRole of_busy, StarRole of_client) {
    const bool so = eventually([&] {
      exchange(p);
      return HasFatalFailure() || (role(busy, *p.busy) == of_busy && role(client, *p.client) == of_client);
    });
    EXPECT_TRUE(so) << "round " << round_;
    for (int i = 0; i < 20 && !HasFatalFailure(); ++i) exchange(p);
  }
  static StarRole role(TestLane& lane, const host::QueuePair& qp) {
    const std::lock_guard guard(lane.lane.lock());
    return qp.options().role;
  }
  static nic::Dialect dialect(TestLane& lane, const host::QueuePair& qp) {
    const std::lock_guard guard(lane.lane.lock());
    return qp.context().dialect;
  }
  void get_busy() {
    for (std::uint32_t i = 0; i < 2 * kBeyond; ++i) others_.push_back(busy.make_qp());
    others_.push_back(meet().busy);  // a state that changes tells the lane of the count
  }
  void calm_down() {
    const std::lock_guard guard(busy.lane.lock());
    for (host::QueuePair* qp : others_) EXPECT_EQ(busy.lane.device().destroy(qp), host::Error::none);
    others_.clear();
  }

  TestLane busy{choosing(kBusy)}, client{choosing(kClient)};

 private:
  std::vector<host::QueuePair*> others_;
  std::uint64_t round_ = 0;
};

TEST_P(Moves, AConnectionGoesToStarAndComesBackWhileItWorks) {
  const Pair p = meet();
  exchange(p);
  for (int i = 0; i < 2 && !HasFatalFailure(); ++i) {
    EXPECT_EQ(dialect(busy, *p.busy), nic::Dialect::srnic);
    get_busy();
    exchange_until(p, StarRole::stateless, StarRole::stateful);
    EXPECT_EQ(dialect(busy, *p.busy), nic::Dialect::star);
    EXPECT_EQ(dialect(client, *p.client), nic::Dialect::star);
    calm_down();
    exchange_until(p, StarRole::none, StarRole::none);
    EXPECT_EQ(dialect(client, *p.client), nic::Dialect::srnic);
  }
}

// Nobody polls and nobody posts: both move all the same, with receives that were posted before.
TEST_P(Moves, AnIdleConnectionMovesWithItsReceives) {
  const Pair p = meet();
  exchange(p);
  const auto post_receive = [](TestLane& lane, host::QueuePair& qp, std::uint64_t id) {
    const std::lock_guard guard(lane.lane.lock());
    const nic::Sge sge{300'000 + 1000 * id, 1000, lane.key};
    EXPECT_EQ(qp.post_receive({.id = id, .sges = {&sge, 1}}), host::Error::none);
    lane.lane.rang();
  };
  for (std::uint64_t id = 1; id <= 3; ++id) {
    post_receive(busy, *p.busy, id);
    post_receive(client, *p.client, id);
  }
  const auto both_play = [&](StarRole of_busy, StarRole of_client) {
    return eventually([&] { return role(busy, *p.busy) == of_busy && role(client, *p.client) == of_client; });
  };
  const auto send = [&](TestLane& from, host::QueuePair& qp, TestLane& to, std::uint64_t id) {
    for (std::size_t i = 0; i < 1000; ++i) from.memory[400'000 + i] = static_cast<std::byte>(i * 3 + id);
    {
      const std::lock_guard guard(from.lane.lock());
      const nic::Sge sge{400'000, 1000, from.key};
      EXPECT_EQ(qp.post_send({.id = 100 + id, .kind = nic::WorkKind::send, .sges = {&sge, 1}}), host::Error::none);
      from.lane.rang();
    }
    EXPECT_EQ(from.wait(false).id, 100 + id);
    EXPECT_EQ(to.wait(false).id, id);
    EXPECT_TRUE(to.holds(300'000 + 1000 * id, from.memory.data() + 400'000, 1000));
  };
  send(busy, *p.busy, client, 1);
  get_busy();
  EXPECT_TRUE(both_play(StarRole::stateless, StarRole::stateful));
  send(busy, *p.busy, client, 2);
  send(client, *p.client, busy, 1);
  calm_down();
  EXPECT_TRUE(both_play(StarRole::none, StarRole::none));
  send(busy, *p.busy, client, 3);
  send(client, *p.client, busy, 2);
}

// The peer has as many connections: it would have to keep the state of all of them.
TEST_P(Moves, APeerThatIsAboutAsBusyStaysAsItIs) {
  const Pair p = meet();
  for (std::uint32_t i = 0; i < kBeyond; ++i) (void)client.make_qp();
  get_busy();
  for (int i = 0; i < 3; ++i) (void)client.make_qp();
  const auto refused = [&](TestLane& lane) {
    const std::lock_guard guard(lane.lane.lock());
    return lane.lane.moves().refused;
  };
  EXPECT_TRUE(eventually([&] {
    exchange(p);
    return HasFatalFailure() || refused(busy) > 0;
  }));
  EXPECT_EQ(role(busy, *p.busy), StarRole::none);
  EXPECT_EQ(dialect(client, *p.client), nic::Dialect::srnic);
}

INSTANTIATE_TEST_SUITE_P(Ways, Moves,
                         testing::Values(Weather{WireChoice::udp, nullptr}, Weather{WireChoice::udp, "3%"},
                                         Weather{WireChoice::automatic, nullptr}),
                         [](const auto& p) {
                           return std::string(p.param.wire == WireChoice::udp ? "udp" : "shm") +
                                  (p.param.loss != nullptr ? "_loss" : "");
                         });

}  // namespace
}  // namespace weft::real
