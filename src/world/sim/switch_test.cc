// Switches whose buffer has an end: what is dropped without PFC, and who waits for whom with it.
#include "world/sim/switch.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "world/sim/test_hosts.h"

namespace weft::sim {
namespace {

constexpr LinkSpec kCable{.bits_per_second = 100'000'000'000, .delay = microseconds(1)};
constexpr std::array<std::byte, 1024> kData{};
constexpr std::uint32_t kWireBytes = 82 + 1024;
constexpr Time kPacketTime = kWireBytes * 80;
constexpr std::uint32_t kEach = 1'000;
constexpr BufferSpec kDropping{.bytes = 300'000, .alpha = 0.5};
constexpr BufferSpec kPausing{.bytes = 1'000'000, .alpha = 0.125, .pause = true};

// Hosts around a switch; without `spec` its buffer has no end.
struct Star : TestWorld {
  explicit Star(std::size_t count, const BufferSpec& spec = {}, std::uint64_t seed = 1)
      : TestWorld(seed, count, kCable, true) {
    if (spec.bytes > 0) fabric.set_buffer(0, spec);
  }
  [[nodiscard]] Time paused(HostIndex host) const {
    return fabric.link(fabric.uplink(host)).queue()->paused_for(fabric.now());
  }
};

void overload(Star& world) {
  for (std::uint32_t psn = 0; psn < kEach; ++psn) {
    world.hosts[0].send(2, psn, kData);
    world.hosts[1].send(2, kEach + psn, kData);
  }
  world.fabric.run_until_idle();
}
bool in_order(const TestHost& host) {
  std::array<std::vector<std::uint32_t>, 2> from;
  for (const std::uint32_t psn : host.psns()) from[psn / kEach].push_back(psn % kEach);
  return std::is_sorted(from[0].begin(), from[0].end()) && std::is_sorted(from[1].begin(), from[1].end());
}

// A third of the buffer waits for the overloaded port, and as much as has left meanwhile gets through.
TEST(Switch, WithoutPauseDropsWhatDoesNotFit) {
  Star world(3, kDropping);
  overload(world);
  const NetworkCounters& n = world.fabric.counters();
  EXPECT_EQ(n.pauses, 0u);
  EXPECT_EQ(n.delivered + n.no_room, 2 * kEach);
  EXPECT_NEAR(static_cast<double>(n.delivered), kEach + 100'000.0 / kWireBytes, 5);
  EXPECT_TRUE(in_order(world.hosts[2]));
  EXPECT_EQ(world.fabric.parcels().in_flight(), 0u);
}

// The bottleneck never runs dry, so that pausing costs no time.
TEST(Switch, WithPauseLosesNothingAndNoTime) {
  Star endless(3), world(3, kPausing);
  overload(endless);
  overload(world);
  EXPECT_GT(world.fabric.counters().pauses, 2u);
  EXPECT_EQ(world.fabric.counters().no_room, 0u);
  ASSERT_EQ(world.hosts[2].arrived.size(), 2 * kEach);
  EXPECT_TRUE(in_order(world.hosts[2]));
  EXPECT_EQ(world.hosts[2].arrived.back().at, endless.hosts[2].arrived.back().at);
  EXPECT_NEAR(static_cast<double>(world.paused(0)), kEach * kPacketTime, 0.2 * kEach * kPacketTime)
      << "half of the time";
}

// However small the share of a port is, its headroom is as large as it must be.
TEST(Switch, HeadroomSufficesForTheLargestPackets) {
  constexpr std::array<std::byte, 4096> kLargest{};
  for (const Time delay : {Time{0}, nanoseconds(100), microseconds(5)}) {
    for (std::uint64_t bytes = 50'000; bytes < 500'000; bytes += 10'000) {
      TestWorld world(1, 3, {.bits_per_second = 100'000'000'000, .delay = delay}, true);
      try {
        world.fabric.set_buffer(0, {.bytes = bytes, .alpha = 0.125, .pause = true});
      } catch (const std::runtime_error&) {
        continue;  // smaller than the headroom
      }
      for (std::uint32_t psn = 0; psn < 300; ++psn) {
        for (const HostIndex from : {0u, 1u}) world.hosts[from].send(2, psn, kLargest);
        world.hosts[2].send(0, psn, kLargest);  // the frame that pauses 0 waits for one of these
      }
      world.fabric.run_until_idle();
      EXPECT_EQ(world.fabric.counters().no_room, 0u) << bytes;
      EXPECT_EQ(world.fabric.counters().delivered, 900u) << bytes;
    }
  }
}

// Frames take their time: one that waits behind a packet, its own, and the cable's.
TEST(Switch, APauseIsHeardWhenItsFrameHasArrived) {
  Star world(2, kPausing);
  constexpr Time kFrame = 84 * 80;
  world.hosts[1].send(0, 1, kData);  // the host's link is busy with it
  world.fabric.pause_neighbour(1, true);
  world.hosts[0].send(1, 2, kData, microseconds(1));
  world.fabric.run_until_idle();
  EXPECT_TRUE(world.hosts[1].arrived.empty()) << "it waits at the switch";
  world.fabric.pause_neighbour(1, false);
  const Time asked = world.fabric.now();
  world.fabric.run_until_idle();
  ASSERT_EQ(world.hosts[1].arrived.size(), 1u);
  EXPECT_EQ(world.hosts[1].arrived[0].at, asked + kFrame + kCable.delay + kPacketTime + kCable.delay);
  const LinkIndex down = world.fabric.link(world.fabric.uplink(1)).queue()->back();
  EXPECT_EQ(world.fabric.link(down).queue()->paused_for(world.fabric.now()),
            asked + kFrame + kCable.delay - (kPacketTime + kFrame + kCable.delay));
}

// On a cable as well: the packet that is on the wire goes out, what comes behind it waits, and goes on when it is told.
TEST(Cable, APauseIsHeardWhenItsFrameHasArrived) {
  TestWorld world(1, 2, kCable);
  world.fabric.let_pause(0);
  constexpr Time kFrame = 84 * 80;
  const Time heard = kFrame + kCable.delay;
  world.fabric.pause_neighbour(1, true);
  for (std::uint32_t psn = 0; psn < 20; ++psn) world.hosts[0].send(1, psn, kData, heard - 5 * kPacketTime / 2 + 1);
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[1].psns(), (std::vector{0u, 1u, 2u}));
  EXPECT_EQ(world.hosts[1].arrived.back().at, heard + kPacketTime / 2 + 1 + kCable.delay);
  world.hosts[1].send(0, 30, kData);  // the frame that ends the pause waits for it
  const Time asked = world.fabric.now();
  world.fabric.pause_neighbour(1, false);
  world.fabric.run_until_idle();
  ASSERT_EQ(world.hosts[1].arrived.size(), 20u);
  EXPECT_EQ(world.hosts[1].arrived[3].at, asked + kPacketTime + kFrame + kCable.delay + kPacketTime + kCable.delay);
  EXPECT_EQ(world.fabric.link(world.fabric.uplink(0)).queue()->paused_for(world.fabric.now()),
            asked + kPacketTime + kFrame + kCable.delay - heard);
}

// Where nobody pauses, a port changes nothing.
TEST(Cable, APortThatIsNotPausedCostsNoTime) {
  std::array<std::vector<TestHost::Arrival>, 2> arrived;
  for (const bool pausing : {false, true}) {
    TestWorld world(1, 2, kCable);
    if (pausing) world.fabric.let_pause(0);
    for (std::uint32_t psn = 0; psn < 100; ++psn) {
      world.hosts[0].send(1, psn, kData, kPacketTime * (psn + psn % 7));
    }
    world.fabric.run_until_idle();
    arrived[pausing ? 1 : 0] = world.hosts[1].arrived;
  }
  EXPECT_EQ(arrived[0], arrived[1]);
}

// A queue of 802.1Qbb in SONiC's example (Azure, NSDI 2023, appendix A) has 96 928 bytes of headroom, with cables up to
// 300 m and what switches take to obey.
TEST(Cable, HeadroomIsLessThanInSonicsExample) {
  const Link link({.bits_per_second = 100'000'000'000, .delay = nanoseconds(1500)}, {}, {});
  EXPECT_LT(pause_headroom(link, link), 96'928u);
}

// Host 2 does not take its packets. Host 0 has some for it, and is paused; those that it has for host 3, which would
// take them, wait as well, while those of host 1 do not: head-of-line blocking.
TEST(Switch, AVictimWaitsForAReceiverThatIsNotItsOwn) {
  Star world(4, kPausing);
  world.fabric.pause_neighbour(2, true);
  for (std::uint32_t psn = 0; psn < kEach; ++psn) world.hosts[0].send(2, psn, kData);
  world.hosts[0].send(3, 7, kData);
  world.hosts[1].send(3, 8, kData);
  world.fabric.run_until(milliseconds(10));
  EXPECT_EQ(world.hosts[3].psns(), std::vector{8u});
  EXPECT_TRUE(world.hosts[2].arrived.empty());
  EXPECT_GT(world.paused(0), milliseconds(9));
  EXPECT_EQ(world.paused(1), 0);

  world.fabric.pause_neighbour(2, false);
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[3].psns(), (std::vector{8u, 7u}));
  EXPECT_EQ(world.hosts[2].arrived.size(), kEach);
  EXPECT_EQ(world.fabric.counters().no_room, 0u);
}

// Without an end to its buffer nobody is paused, and the victim is none.
TEST(Switch, AnEndlessBufferBlocksNobody) {
  Star world(4);
  EXPECT_FALSE(world.fabric.can_pause(2));
  for (std::uint32_t psn = 0; psn < kEach; ++psn) {
    world.hosts[0].send(2, psn, kData);
    world.hosts[1].send(2, psn, kData);
  }
  world.hosts[0].send(3, 7, kData);
  world.fabric.run_until_idle();
  EXPECT_LT(world.hosts[3].arrived[0].at, world.hosts[2].arrived.back().at - 900 * kPacketTime);
}

// Two switches in a row: a receiver that waits pauses the second, that the first, and that the sender.
TEST(Switch, PausesSpreadFromSwitchToSwitch) {
  Fabric<TestHost> fabric(1);
  std::deque<TestHost> hosts;
  for (int i = 0; i < 2; ++i) hosts.emplace_back(fabric);
  const SwitchIndex first = fabric.add_switch(), second = fabric.add_switch();
  fabric.add_uplink(0, {.is_host = false, .index = first}, kCable);
  fabric.add_uplink(1, {.is_host = false, .index = second}, kCable);
  fabric.add_port(first, {.is_host = true, .index = 0}, kCable);
  fabric.add_port(second, {.is_host = true, .index = 1}, kCable);
  const LinkIndex between = fabric.add_port(first, {.is_host = false, .index = second}, kCable);
  fabric.set_route(first, 1, between);
  fabric.set_route(second, 0, fabric.add_port(second, {.is_host = false, .index = first}, kCable));
  fabric.set_buffer(first, kPausing);
  fabric.set_buffer(second, kPausing);

  fabric.pause_neighbour(1, true);
  for (std::uint32_t psn = 0; psn < kEach; ++psn) hosts[0].send(1, psn, kData);
  fabric.run_until_idle();
  EXPECT_TRUE(fabric.link(between).queue()->paused());
  EXPECT_TRUE(fabric.link(fabric.uplink(0)).queue()->paused());
  EXPECT_GT(fabric.link(fabric.uplink(0)).queue()->bytes(), 0u) << "the rest waits in the host";
  fabric.pause_neighbour(1, false);
  fabric.run_until_idle();
  EXPECT_EQ(hosts[1].arrived.size(), kEach);
  EXPECT_EQ(fabric.counters().no_room, 0u);
  EXPECT_FALSE(fabric.link(fabric.uplink(0)).queue()->paused());
}

TEST(Switch, TheSameSeedGivesTheSameRun) {
  const auto digest = [](std::uint64_t seed, const BufferSpec& spec) {
    Star world(3, spec, seed);
    overload(world);
    return world.fabric.trace().value();
  };
  for (const BufferSpec& spec : {kDropping, kPausing}) {
    EXPECT_EQ(digest(1, spec), digest(1, spec));
    EXPECT_NE(digest(1, spec), digest(2, spec));
  }
}

TEST(Switch, ABufferSmallerThanItsHeadroomIsRefused) {
  TestWorld world(1, 3, kCable);
  EXPECT_THROW(world.fabric.set_buffer(0, {.bytes = 50'000, .alpha = 0.125, .pause = true}), std::runtime_error);
}

}  // namespace
}  // namespace weft::sim
