#include "world/sim/fabric.h"

#include <array>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "world/sim/test_hosts.h"

namespace weft::sim {
namespace {

static_assert(SimHost<TestHost>);

constexpr LinkSpec kLink{.bits_per_second = 100'000'000'000, .delay = microseconds(1)};
constexpr std::array<std::byte, 1024> kPayload{};
constexpr Time kOnWire = (82 + 1024) * 80;  // a SEND of 1 KB, with all that an Ethernet link adds
constexpr Time kHop = kOnWire + microseconds(1);

TEST(Fabric, BackToBackEchoesTakeExactlyTheirTime) {
  TestWorld world(1, 2, kLink);
  world.hosts[1].answers = 1;
  world.hosts[0].send(1, 7, kPayload);
  EXPECT_EQ(world.fabric.run_until_idle(), Stop::idle);
  EXPECT_EQ(world.hosts[1].arrived, (std::vector<TestHost::Arrival>{{kHop, 7}}));
  EXPECT_EQ(world.hosts[0].arrived, (std::vector<TestHost::Arrival>{{2 * kHop, 8}}));
  EXPECT_EQ(world.fabric.counters().hops, 2u);
  EXPECT_EQ(world.fabric.parcels().in_flight(), 0u);
  EXPECT_EQ(world.fabric.parcels().payloads_in_flight(), 0u);
}

TEST(Fabric, ASwitchStoresAndForwards) {
  TestWorld world(1, 3, kLink);
  world.hosts[0].send(2, 1, kPayload);
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[2].arrived, (std::vector<TestHost::Arrival>{{2 * kHop, 1}}));
  EXPECT_EQ(world.fabric.counters().hops, 2u);
}

// Two senders to one receiver: the link to it is the bottleneck, and its queue has no end.
TEST(Fabric, AnOverloadedPortDelaysAndDropsNothing) {
  TestWorld world(1, 3, kLink);
  constexpr std::uint32_t kEach = 1'000;
  for (std::uint32_t psn = 0; psn < kEach; ++psn) {
    world.hosts[0].send(2, psn, kPayload);
    world.hosts[1].send(2, kEach + psn, kPayload);
  }
  world.fabric.run_until_idle();
  ASSERT_EQ(world.hosts[2].arrived.size(), 2 * kEach);
  EXPECT_EQ(world.hosts[2].arrived.back().at, kHop + 2 * kEach * kOnWire + microseconds(1));
  std::array<std::vector<std::uint32_t>, 2> from;
  for (const std::uint32_t psn : world.hosts[2].psns()) from[psn / kEach].push_back(psn % kEach);
  for (const auto& psns : from) EXPECT_TRUE(std::is_sorted(psns.begin(), psns.end()));  // each in its order
}

TEST(Fabric, SendingLaterIsLater) {
  TestWorld world(1, 2, kLink);
  world.hosts[0].send(1, 1, kPayload, microseconds(5));
  world.hosts[0].send(1, 2, kPayload);  // but not before what was sent before
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[1].arrived,
            (std::vector<TestHost::Arrival>{{microseconds(5) + kHop, 1}, {microseconds(5) + kHop + kOnWire, 2}}));
}

TEST(Fabric, PayloadsArriveAsTheyWere) {
  TestWorld world(1, 2, kLink);
  Random random(1);
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t psn = 0; psn < 100; ++psn) {
    std::vector<std::byte> bytes(random.below(4097));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    world.hosts[0].send(1, psn, bytes);
    sent.push_back(std::move(bytes));
  }
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[1].payloads, sent);
}

TEST(Fabric, APacketForNobodyIsCountedAndGone) {
  TestWorld world(1, 2, kLink);
  world.hosts[0].send(77, 1);
  EXPECT_EQ(world.fabric.counters().unroutable, 1u);
  EXPECT_EQ(world.fabric.parcels().in_flight(), 0u);
  Fabric<TestHost> unconnected(1);
  TestHost a(unconnected), b(unconnected);
  a.send(1, 1);
  EXPECT_EQ(unconnected.counters().unroutable, 1u);
}

// ---- waking
// ------------------------------------------------------------------------------------------------------------

TEST(FabricWake, TheEarliestCountsAndOnce) {
  TestWorld world(1, 2, kLink);
  world.fabric.wake(0, 300);
  world.fabric.wake(0, 100);
  world.fabric.wake(0, 200);
  world.fabric.wake(0, 100);
  world.fabric.wake(1, 150);
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[0].wakes, (std::vector<Time>{100}));
  EXPECT_EQ(world.hosts[1].wakes, (std::vector<Time>{150}));
  world.fabric.wake(0, 400);  // once it has rung, it can be set again
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[0].wakes, (std::vector<Time>{100, 400}));
}

TEST(FabricWake, CanBeCancelled) {
  TestWorld world(1, 2, kLink);
  world.fabric.wake(0, 100);
  world.fabric.cancel_wake(0);
  world.fabric.run_until(150);
  EXPECT_TRUE(world.hosts[0].wakes.empty());
  world.fabric.wake(0, 200);
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[0].wakes, (std::vector<Time>{200}));
}

TEST(Fabric, TellsAHostWhatItAskedToBeTold) {
  TestWorld world(1, 2, kLink);
  world.fabric.post(1, 20, 2);
  world.fabric.post(1, 10, 1);
  world.fabric.run_until_idle();
  EXPECT_EQ(world.hosts[1].events, (std::vector<TestHost::Arrival>{{10, 1}, {20, 2}}));
}

// ---- running
// -----------------------------------------------------------------------------------------------------------

TEST(FabricRun, SaysWhyItStopped) {
  TestWorld world(1, 2, kLink);
  EXPECT_EQ(world.fabric.run_until_idle(), Stop::idle);
  world.hosts[0].answers = world.hosts[1].answers = UINT64_MAX;
  world.hosts[0].send(1, 0);
  EXPECT_EQ(world.fabric.run_until_idle(kNever, 100), Stop::event_limit);
  EXPECT_EQ(world.fabric.counters().hops, 100u);
  const Time limit = world.fabric.now() + milliseconds(1);
  EXPECT_EQ(world.fabric.run_until_idle(limit), Stop::time_limit);
  EXPECT_LE(world.fabric.now(), limit);
  EXPECT_EQ(world.fabric.run_until(limit + 5), Stop::time_limit);
  EXPECT_EQ(world.fabric.now(), limit + 5);
  world.hosts[0].answers = 0;
  EXPECT_EQ(world.fabric.run_until_idle(), Stop::idle);
}

TEST(FabricRun, UntilIncludesItsLastMoment) {
  TestWorld world(1, 2, kLink);
  world.fabric.wake(0, 100);
  world.fabric.run_until(99);
  EXPECT_TRUE(world.hosts[0].wakes.empty());
  world.fabric.run_until(100);
  EXPECT_EQ(world.hosts[0].wakes.size(), 1u);
}

// ---- the record
// ----------------------------------------------------------------------------------------------------------

std::uint64_t digest_of_fabric(std::uint32_t psn, std::byte content, Time when, std::uint64_t added) {
  TestWorld world(1, 2, kLink);
  const std::array<std::byte, 3> payload{std::byte{1}, content, std::byte{3}};
  world.hosts[0].send(1, psn, payload, when);
  world.fabric.run_until_idle();
  world.fabric.trace().add(world.fabric.now(), 1, "completion", {added});
  return world.fabric.trace().value();
}

TEST(Trace, EverythingIsInTheDigest) {
  const std::uint64_t one = digest_of_fabric(1, std::byte{2}, 0, 5);
  EXPECT_EQ(digest_of_fabric(1, std::byte{2}, 0, 5), one);
  EXPECT_NE(digest_of_fabric(2, std::byte{2}, 0, 5), one);
  EXPECT_NE(digest_of_fabric(1, std::byte{9}, 0, 5), one);
  EXPECT_NE(digest_of_fabric(1, std::byte{2}, 1, 5), one);
  EXPECT_NE(digest_of_fabric(1, std::byte{2}, 0, 6), one);
}

// Digests are written down in tests and in bug reports, so this one must never change, on any machine.
TEST(Trace, IsTheSameOnEveryMachine) { EXPECT_EQ(digest_of_fabric(1, std::byte{2}, 0, 5), 2146727753710676362u); }

// Headers that the opcode does not have may hold anything: they are not on the wire.
TEST(Trace, ReadsOnlyWhatTheOpcodeHas) {
  const auto digest = [](wire::Opcode opcode, std::uint64_t leftover) {
    Parcel parcel;
    parcel.headers.bth.opcode = opcode;
    parcel.headers.reth.address = parcel.headers.atomic.address = parcel.headers.atomic_ack.original = leftover;
    parcel.headers.aeth.syndrome = static_cast<std::uint8_t>(leftover);
    parcel.headers.immediate.value = static_cast<std::uint32_t>(leftover);
    parcel.headers.invalidate.key = wire::Key(static_cast<std::uint32_t>(leftover));
    parcel.headers.deth.source = wire::Qpn(static_cast<std::uint32_t>(leftover));
    parcel.headers.sequence = wire::Sequence(static_cast<std::uint32_t>(leftover), 0, 0);
    parcel.headers.srnic_ack.run = static_cast<std::uint16_t>(leftover);
    TraceDigest trace;
    trace.delivered(0, parcel);
    return trace.value();
  };
  for (unsigned code = 0; code < 256; ++code) {
    const auto opcode = static_cast<wire::Opcode>(code);
    const wire::OpcodeInfo& has = wire::info(opcode);
    const bool extended = has.reth || has.aeth || has.atomic_eth || has.atomic_ack_eth || has.immediate || has.ieth ||
                          has.deth || has.sequence;
    EXPECT_EQ(digest(opcode, 1) != digest(opcode, 2), extended) << code;
  }
}

TEST(Trace, WritesALineForPeopleAndStaysTheSame) {
  const auto run = [](std::ostream* sink) {
    TestWorld world(1, 2, {.delay = 100, .faults = FaultPlan::parse("drop=2").plan.value()});
    world.fabric.trace().write_to(sink);
    world.hosts[0].send(1, 5);
    world.hosts[0].send(1, 6);
    world.fabric.run_until_idle();
    world.fabric.trace().add(world.fabric.now(), 1, "completion", {17});
    return world.fabric.trace().value();
  };
  std::ostringstream lines;
  EXPECT_EQ(run(&lines), run(nullptr));
  EXPECT_EQ(lines.str(),
            "0.000000 us dropped 0->1 RC SEND only qpn 0 psn 6 payload 0\n"
            "0.000100 us delivered 0->1 RC SEND only qpn 0 psn 5 payload 0\n"
            "0.000100 us completion at host 1 17\n");
}

}  // namespace
}  // namespace weft::sim
