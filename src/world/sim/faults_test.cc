// Each kind of fault does what it says, to the packet it was meant for and to no other, and its counter says so.
#include "world/sim/faults.h"

#include <array>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "world/sim/test_hosts.h"

namespace weft::sim {
namespace {

using Psns = std::vector<std::uint32_t>;

constexpr std::uint64_t kRate = 100'000'000'000;
constexpr Time kDelay = microseconds(1);
constexpr Time kEmptyPacket = 84 * 80;  // on the wire

LinkSpec link_with(const FaultPlan& plan) { return {.bits_per_second = kRate, .delay = kDelay, .faults = plan}; }
LinkSpec link_with(std::string_view plan) { return link_with(FaultPlan::parse(plan).plan.value()); }

// Host 0 sends packets 1 ... count to host 1, all at once.
struct Burst : TestWorld {
  Burst(const LinkSpec& link, std::uint32_t count, std::uint64_t seed = 1, bool star = false)
      : TestWorld(seed, 2, link, star) {
    for (std::uint32_t psn = 1; psn <= count; ++psn) hosts[0].send(1, psn);
    EXPECT_EQ(fabric.run_until_idle(), Stop::idle);
    EXPECT_EQ(fabric.parcels().in_flight(), 0u);
  }
  [[nodiscard]] Psns arrived() const { return hosts[1].psns(); }
  [[nodiscard]] Psns marked() const { return hosts[1].marked; }
  [[nodiscard]] Time at(std::size_t i) const { return hosts[1].arrived[i].at; }
  [[nodiscard]] FaultCounters counters() const { return fabric.fault_counters(); }
};

Psns first(std::uint32_t count) {
  Psns all(count);
  std::iota(all.begin(), all.end(), 1u);
  return all;
}

// ---- by script
// -------------------------------------------------------------------------------------------------------

TEST(ScriptedFault, DropLosesThatPacketAlone) {
  for (std::uint32_t n = 1; n <= 5; ++n) {
    Burst burst(link_with("drop=" + std::to_string(n)), 5);
    Psns expected = first(5);
    expected.erase(expected.begin() + n - 1);
    EXPECT_EQ(burst.arrived(), expected);
    EXPECT_EQ(burst.counters(), (FaultCounters{.offered = 5, .dropped_by_script = 1}));
  }
}

TEST(ScriptedFault, DuplicateSendsASecondCopyDirectlyBehind) {
  Burst burst(link_with("duplicate=2"), 3);
  EXPECT_EQ(burst.arrived(), (Psns{1, 2, 2, 3}));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(burst.at(i), kDelay + (static_cast<Time>(i) + 1) * kEmptyPacket);
  EXPECT_EQ(burst.counters(), (FaultCounters{.offered = 3, .duplicated = 1}));
}

TEST(ScriptedFault, DelayLetsTheNextPacketPass) {
  Burst burst(link_with("delay=2"), 4);
  EXPECT_EQ(burst.arrived(), (Psns{1, 3, 2, 4}));
  EXPECT_EQ(burst.at(2), burst.at(1) + 1);  // directly behind it
  EXPECT_EQ(burst.counters(), (FaultCounters{.offered = 4, .held = 1}));
}

TEST(ScriptedFault, DelayEndsWhenNoPacketFollows) {
  Burst burst(link_with("delay=3,hold=7us"), 3);
  EXPECT_EQ(burst.arrived(), (Psns{1, 2, 3}));
  EXPECT_EQ(burst.at(2), 3 * kEmptyPacket + kDelay + microseconds(7));
}

TEST(ScriptedFault, DelayOfTwoInARowKeepsTheirOrder) {
  EXPECT_EQ(Burst(link_with("delay=1,delay=2"), 4).arrived(), (Psns{3, 1, 2, 4}));
}

TEST(ScriptedFault, DelayIsNotEndedByAPacketThatIsLost) {
  EXPECT_EQ(Burst(link_with("delay=1,drop=2"), 3).arrived(), (Psns{3, 1}));
}

// The event that would have ended the wait comes when the packet is long gone and its place may be another's.
TEST(ScriptedFault, DelayIsEndedOnce) {
  TestWorld world(1, 2, link_with("delay=1,delay=3,hold=2us"));
  world.hosts[0].send(1, 1);
  world.hosts[0].send(1, 2);
  world.hosts[0].send(1, 3, {}, microseconds(2));  // takes the place of 1 in the pool while 1's event is still to come
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[1].psns(), (Psns{2, 1, 3}));
  EXPECT_EQ(world.hosts[1].arrived[2].at, microseconds(2) + kEmptyPacket + kDelay + microseconds(2));
}

TEST(ScriptedFault, CorruptIsNoticedByThePort) {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Burst burst(link_with("corrupt=2"), 3, seed);
    EXPECT_EQ(burst.counters(), (FaultCounters{.offered = 3, .corrupted = 1}));
    EXPECT_EQ(burst.hosts[1].refused.size() + burst.arrived().size(), 3u);
    refused += burst.hosts[1].refused.size() == 1;
    EXPECT_EQ(burst.fabric.counters().refused, burst.hosts[1].refused.size());
    EXPECT_EQ(burst.arrived(), burst.hosts[1].refused.empty() ? first(3) : (Psns{1, 3}));
  }
  EXPECT_GT(refused, 150);  // the rest hit bits that no check covers: UDP checksum, FECN, reserved ones
}

TEST(ScriptedFault, MarkSaysCongestionExperiencedToThatPacketAlone) {
  Burst burst(link_with("mark=2"), 3);
  EXPECT_EQ(burst.arrived(), first(3));
  EXPECT_EQ(burst.marked(), (Psns{2}));
  EXPECT_EQ(burst.counters(), (FaultCounters{.offered = 3, .marked = 1}));
}

TEST(ScriptedFault, SeveralMayHitOnePacket) {
  // Faults hit the original; the copy is whole and in time.
  EXPECT_EQ(Burst(link_with("drop=1,duplicate=1"), 2).arrived(), (Psns{1, 2}));
  EXPECT_EQ(Burst(link_with("delay=1,duplicate=1"), 2).arrived(), (Psns{1, 1, 2}));
}

TEST(ScriptedFault, CountsItsOwnLinkUnlessToldOtherwise) {
  const auto run = [](std::string_view plan) {
    TestWorld world(1, 2, link_with(plan));
    world.hosts[0].send(1, 1);
    world.hosts[1].answers = 1;
    world.hosts[0].answers = 1;
    world.fabric.run_until_idle();
    return std::pair{world.hosts[0].psns(), world.hosts[1].psns()};
  };
  // 0 sends 1, 1 answers with 2, 0 with 3: the second packet of link 0 is 3, the second of the world is 2.
  EXPECT_EQ(run("drop=2"), (std::pair{Psns{2}, Psns{1}}));
  EXPECT_EQ(run("drop=2,count=world"), (std::pair{Psns{}, Psns{1}}));
  EXPECT_EQ(run("drop=3,count=world"), (std::pair{Psns{2}, Psns{1}}));
}

TEST(ScriptedFault, InAStarAPacketMeetsOneInjector) {
  Burst burst(link_with("drop=2,count=world"), 3, 1, true);
  EXPECT_EQ(burst.arrived(), (Psns{1, 3}));
  EXPECT_EQ(burst.counters().offered, 3u);
}

TEST(FaultInjectorDeathTest, ThereIsNoPacketZero) {
  std::uint64_t world_count = 0;
  FaultPlan plan;
  plan.script = {{Fault::drop, 0}};
  EXPECT_DEATH(FaultInjector(plan, Random(1), world_count), "nth");
}

// ---- by chance
// -------------------------------------------------------------------------------------------------------

constexpr std::uint32_t kMany = 20'000;

TEST(RandomFault, LossLosesItsShare) {
  Burst burst(link_with("loss=0.1"), kMany);
  EXPECT_NEAR(static_cast<double>(burst.counters().lost), 2'000, 200);
  EXPECT_EQ(burst.arrived().size(), kMany - burst.counters().lost);
  EXPECT_EQ(burst.counters().dropped(), burst.counters().lost);
  const Psns arrived = burst.arrived();
  EXPECT_TRUE(std::is_sorted(arrived.begin(), arrived.end()));
}

TEST(RandomFault, LossOfAllLosesAll) { EXPECT_TRUE(Burst(link_with("loss=1"), 100).arrived().empty()); }

TEST(RandomFault, DuplicationDoublesItsShare) {
  Burst burst(link_with("duplication=0.1"), kMany);
  EXPECT_NEAR(static_cast<double>(burst.counters().duplicated), 2'000, 200);
  EXPECT_EQ(burst.arrived().size(), kMany + burst.counters().duplicated);
}

TEST(RandomFault, ReorderingSwapsNeighbours) {
  Burst burst(link_with("reordering=0.1"), kMany);
  const Psns arrived = burst.arrived();
  ASSERT_EQ(arrived.size(), kMany);
  std::uint64_t overtaken = 0;
  std::uint32_t highest = 0;
  for (const std::uint32_t psn : arrived) {
    overtaken += psn < highest;
    highest = std::max(highest, psn);
  }
  EXPECT_NEAR(static_cast<double>(burst.counters().held), 2'000, 200);
  EXPECT_NEAR(static_cast<double>(overtaken), static_cast<double>(burst.counters().held), 1);  // but perhaps the last
}

TEST(RandomFault, JitterDelaysItsShareByAtMostItsMaximum) {
  Burst burst(link_with("jitter=0.1,jitter_max=3us"), kMany);
  ASSERT_EQ(burst.arrived().size(), kMany);
  EXPECT_NEAR(static_cast<double>(burst.counters().delayed), 2'000, 200);
  std::uint64_t late = 0;
  Time latest = 0;
  for (const TestHost::Arrival& one : burst.hosts[1].arrived) {
    const Time lateness = one.at - (kDelay + one.psn * kEmptyPacket);
    late += lateness > 0;
    latest = std::max(latest, lateness);
  }
  EXPECT_EQ(late, burst.counters().delayed);
  EXPECT_LE(latest, microseconds(3));
  EXPECT_GT(latest, microseconds(2));
}

TEST(RandomFault, CorruptionDamagesItsShare) {
  Burst burst(link_with("corruption=0.1"), kMany);
  EXPECT_NEAR(static_cast<double>(burst.counters().corrupted), 2'000, 200);
  EXPECT_EQ(burst.arrived().size() + burst.hosts[1].refused.size(), kMany);
  EXPECT_GT(burst.hosts[1].refused.size(), burst.counters().corrupted * 3 / 4);
}

// What happens to one packet does not change the fate of later ones: a script beside chance, or a hole, adds to it.
TEST(RandomFault, TheScriptDoesNotDisturbChance) {
  const Psns by_chance = Burst(link_with("loss=0.3"), 1'000).arrived();
  Psns with_script = Burst(link_with("loss=0.3,drop=" + std::to_string(by_chance[10])), 1'000).arrived();
  Psns expected = by_chance;
  expected.erase(expected.begin() + 10);
  EXPECT_EQ(with_script, expected);
}

TEST(RandomFault, TwoLinksDoNotShareTheirFate) {
  TestWorld world(1, 2, link_with("loss=0.5"));
  for (std::uint32_t psn = 1; psn <= 100; ++psn) {
    world.hosts[0].send(1, psn);
    world.hosts[1].send(0, psn);
  }
  world.fabric.run_until_idle();
  EXPECT_NE(world.hosts[0].psns(), world.hosts[1].psns());
}

// ---- black holes
// -----------------------------------------------------------------------------------------------------

TEST(BlackHole, SwallowsWhatLeavesWhileItIsThere) {
  // Packet n leaves at n * 6.72 ns.
  Burst burst(link_with("hole=20160ps..33600ps,hole=47040ps..53760ps"), 10);
  EXPECT_EQ(burst.arrived(), (Psns{1, 2, 5, 6, 8, 9, 10}));  // from is inside, to is not
  EXPECT_EQ(burst.counters(), (FaultCounters{.offered = 10, .black_holed = 3}));
}

TEST(BlackHole, MayLastForEver) { EXPECT_EQ(Burst(link_with("hole=10ns..never"), 5).arrived(), (Psns{1})); }

TEST(Faults, CanBeChangedWhileTheWorldRuns) {
  TestWorld world(1, 2, link_with("delay=1,hold=1ms"));
  world.hosts[0].send(1, 1);
  world.fabric.run_until(microseconds(10));
  EXPECT_TRUE(world.hosts[1].arrived.empty());
  world.fabric.set_faults(world.fabric.uplink(0), {});  // what waited goes on
  world.hosts[0].send(1, 2);
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[1].psns(), (Psns{1, 2}));
  EXPECT_EQ(world.fabric.parcels().in_flight(), 0u);
}

}  // namespace
}  // namespace weft::sim
