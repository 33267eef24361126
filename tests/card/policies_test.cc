// Who gets how much of a link, under each policy of the scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bed.h"

namespace weft::test {
namespace {

constexpr std::uint32_t kMessage = 16 * 1024;  // one burst: a turn is a message

// Connections of these service levels, all of them with more to send than there is time for.
class Contest {
 public:
  Contest(nic::Policy policy, const std::vector<std::uint8_t>& levels, std::uint64_t seed = 1)
      : bed_(spec(policy, seed)) {
    for (const std::uint8_t level : levels) {
      QpSpec qp;
      qp.service_level = level;
      pairs_.push_back(bed_.connect(qp));
    }
  }
  void post(std::size_t pair, std::uint32_t messages) {
    for (std::uint32_t i = 0; i < messages; ++i) {
      EXPECT_EQ(pairs_[pair].a.post({.id = pair, .kind = nic::WorkKind::write, .local = {{0, kMessage}}}),
                host::Error::none);
    }
  }
  // Everybody's messages that are done once the first has sent all of its own, or when time is up.
  std::vector<std::uint32_t> run(std::uint32_t messages, Time limit) {
    for (std::size_t i = 0; i < pairs_.size(); ++i) post(i, messages);
    bed_.world().run_until(limit);
    return done();
  }
  std::vector<std::uint32_t> done() {
    std::vector<std::uint32_t> count;
    for (const Connection& pair : pairs_) count.push_back(pair.a.context().sq_done);
    return count;
  }
  [[nodiscard]] Bed& bed() { return bed_; }
  [[nodiscard]] Endpoint& sender(std::size_t pair) { return pairs_[pair].a; }

 private:
  static BedSpec spec(nic::Policy policy, std::uint64_t seed) {
    BedSpec s;
    s.seed = seed;
    s.card.policy = policy;
    s.card.window_packets = 1024;  // the link is what they wait for, not the peer
    return s;
  }
  Bed bed_;
  std::vector<Connection> pairs_;
};

// 16 KB take 1.4 us at 100 Gb/s: a hundred turns.
constexpr Time kHundredTurns = microseconds(140);

TEST(Policies, RoundRobinIsEqualWhateverTheLevels) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto done = Contest(nic::Policy::round_robin, {0, 15, 3, 7}, seed).run(60, kHundredTurns);
    for (const std::uint32_t one : done) EXPECT_NEAR(one, 25, 2) << testing::PrintToString(done);
  }
}

TEST(Policies, WeightedSharesAreAsTheWeights) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto done = Contest(nic::Policy::weighted, {0, 1, 2, 3}, seed).run(60, kHundredTurns);  // 1 : 2 : 3 : 4
    for (std::size_t i = 0; i < done.size(); ++i) {
      EXPECT_NEAR(done[i], 10 * (i + 1), 4) << testing::PrintToString(done);
    }
  }
}

TEST(Policies, NobodyStarvesWhenWeighted) {
  const auto done = Contest(nic::Policy::weighted, {15, 15, 15, 0}).run(64, 2 * kHundredTurns);
  EXPECT_GE(done[3], 3u) << testing::PrintToString(done);
}

TEST(Policies, StrictStarvesTheLowerUntilTheHigherIsDone) {
  Contest contest(nic::Policy::strict, {2, 9, 9, 0});
  const auto half = contest.run(30, kHundredTurns / 2);
  EXPECT_NEAR(half[1], half[2], 1);  // the same level: a turn each
  EXPECT_GT(half[1], 20u);
  EXPECT_EQ(half[0], 0u);
  EXPECT_EQ(half[3], 0u);
  ASSERT_TRUE(contest.bed().run());
  EXPECT_THAT(contest.done(), testing::Each(30u));
}

TEST(Policies, StrictLetsTheHigherPassAtOnce) {
  Contest contest(nic::Policy::strict, {0, 5});
  contest.post(0, 60);
  contest.bed().world().run_until(kHundredTurns / 4);
  contest.post(1, 10);
  contest.bed().world().run_until(kHundredTurns / 4 + 12 * kHundredTurns / 100);
  EXPECT_GE(contest.done()[1], 8u);
  EXPECT_LT(contest.done()[0], 30u);
}

TEST(Policies, ADestroyedQueuePairLeavesNoGhost) {
  for (const auto policy : {nic::Policy::round_robin, nic::Policy::weighted, nic::Policy::strict}) {
    Contest contest(policy, {4, 4, 8, 1});
    (void)contest.run(40, kHundredTurns / 10);
    Node& node = contest.bed().node(0);
    ASSERT_EQ(node.device().destroy(&contest.sender(2).qp()), host::Error::none);
    // Every slot gets a new owner before the next turn: none of them may find itself scheduled.
    std::vector<host::QueuePair*> fresh;
    while (auto qp = node.device().create_qp(node.domain, {.send_cq = node.cq, .receive_cq = node.cq})) {
      fresh.push_back(*qp);
    }
    EXPECT_EQ(fresh.size(), 13u);
    ASSERT_TRUE(contest.bed().run());
    for (const std::size_t left : {0U, 1U, 3U}) EXPECT_EQ(contest.sender(left).context().sq_done, 40u);
    for (const host::QueuePair* qp : fresh) EXPECT_FALSE(qp->context().scheduled);
    EXPECT_TRUE(node.device().card().ready.empty());
  }
}

// They have no path: the address handle says how urgent they are.
TEST(Policies, DatagramsGoByTheLevelOfTheirAddressHandle) {
  BedSpec spec;
  spec.card.policy = nic::Policy::strict;
  Bed bed(spec);
  const Connection low = bed.connect({.service = wire::Service::ud}),
                   high = bed.connect({.service = wire::Service::ud});
  const std::uint32_t bytes = bed.node(0).device().config().mtu;
  for (std::uint64_t i = 0; i < 60; ++i) {
    ASSERT_EQ(low.a.post({.id = i, .local = {{0, bytes}}, .service_level = 3}), host::Error::none);
    ASSERT_EQ(high.a.post({.id = i, .local = {{0, bytes}}, .service_level = 7}), host::Error::none);
  }
  bed.world().run_until(10 * kHundredTurns / 100);  // room for 40 and for no more
  EXPECT_GT(high.a.context().sq_done, 20u);
  EXPECT_LE(low.a.context().sq_done, 8u) << "but for the turn that it had before the other was heard";
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(low.a.context().sq_done, 60u);
}

TEST(Policies, AServiceLevelHasFourBits) {
  Bed bed;
  auto [a, b] = bed.connect({.service_level = 15});
  EXPECT_EQ(a.qp().query().service_level, 15u);
  ASSERT_EQ(a.go_to(nic::QpState::sqd), host::Error::none);
  host::QpAttributes path = a.qp().query();
  path.service_level = 16;
  EXPECT_EQ(a.qp().modify(path, host::QpMask::path), host::Error::invalid_argument);
  path.service_level = 3;
  EXPECT_EQ(a.qp().modify(path, host::QpMask::path), host::Error::none);
  EXPECT_EQ(a.context().service_level, 3u);
}

}  // namespace
}  // namespace weft::test
