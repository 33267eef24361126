// PCI Express: what fits through it, and how long things take. The rates are those of the published model.
#include "world/sim/chip/bus.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

constexpr PcieSpec kGen3{.generation = 3,
                         .lanes = 16,
                         .max_payload = 256,
                         .max_read_request = 512,
                         .tags = 0,
                         .read_latency = nanoseconds(600),
                         .write_latency = nanoseconds(200),
                         .doorbell_latency = nanoseconds(150)};

PcieSpec with(std::uint32_t lanes, std::uint32_t max_payload) {
  PcieSpec spec = kGen3;
  spec.lanes = lanes;
  spec.max_payload = max_payload;
  return spec;
}

// In Gb/s, one decimal: pcie-bench's figures for generation 3.
TEST(Bus, RatesAreThoseOfTheModel) {
  EXPECT_NEAR(transaction_rate(with(16, 256)) / 1e9, 113.7, 0.05);
  EXPECT_NEAR(transaction_rate(with(16, 128)) / 1e9, 111.7, 0.05);
  EXPECT_NEAR(transaction_rate(with(16, 512)) / 1e9, 114.6, 0.05);
  EXPECT_NEAR(transaction_rate(with(8, 256)) / 1e9, 57.9, 0.05);
}

double gigabits(std::uint64_t bytes, Time took) {
  return static_cast<double>(bytes) * 8000 / static_cast<double>(took);
}

TEST(Bus, WritesAndReadsReachWhatTheModelSays) {
  constexpr int kMany = 200;
  constexpr std::uint64_t kBytes = 4096;
  Bus writes(kGen3), reads(kGen3);
  Time written = 0, read = 0;
  for (int i = 0; i < kMany; ++i) {
    written = writes.write(0, 0, kBytes, BusUse::payload) - kGen3.write_latency;
    read = reads.read(0, 0, kBytes, BusUse::payload) - kGen3.read_latency;
  }
  EXPECT_NEAR(gigabits(kMany * kBytes, written), 104.0, 0.3);
  EXPECT_NEAR(gigabits(kMany * kBytes, read), 105.5, 0.4);
}

TEST(Bus, LatenciesOfAnIdleBus) {
  Bus bus(kGen3);
  EXPECT_NEAR(static_cast<double>(bus.read(0, 0, 64, BusUse::work)), 608e3, 1e3);
  EXPECT_NEAR(static_cast<double>(bus.write(0, nanoseconds(1000), 64, BusUse::completion)), 1206e3, 2e3);
  EXPECT_NEAR(static_cast<double>(bus.store(0, nanoseconds(2000), 8, BusUse::doorbell)), 2152e3, 1e3);
}

// Either direction is busy on its own.
TEST(Bus, DirectionsDoNotDisturbEachOther) {
  Bus bus(kGen3);
  const Time alone = Bus(kGen3).read(0, 0, 256, BusUse::payload);
  bus.write(0, nanoseconds(50), 1 << 16, BusUse::payload);
  EXPECT_LT(bus.read(0, 0, 256, BusUse::payload), alone + nanoseconds(66)) << "the write takes 5 us";
}

TEST(Bus, TagsLimitReadsUnderWay) {
  PcieSpec spec = kGen3;
  spec.tags = 2;
  Bus bus(spec);
  const Time first = bus.read(0, 0, 64, BusUse::payload);
  (void)bus.read(0, 0, 64, BusUse::payload);
  EXPECT_GE(bus.read(0, 0, 64, BusUse::payload), first + spec.read_latency);
}

// A tag is that of a request, and a request asks for max_read_request bytes at most.
TEST(Bus, ALongReadNeedsATagForEachRequest) {
  PcieSpec spec = kGen3;
  spec.tags = 2;
  EXPECT_LT(Bus(spec).read(0, 0, 1024, BusUse::payload), 2 * spec.read_latency);
  EXPECT_GT(Bus(spec).read(0, 0, 1025, BusUse::payload), 2 * spec.read_latency);
  EXPECT_GT(Bus(spec).read(0, 0, 2049, BusUse::payload), 3 * spec.read_latency);
}

TEST(Bus, JitterIsEvenAndFollowsFromTheSeed) {
  PcieSpec spec = kGen3;
  spec.read_jitter = nanoseconds(40);
  Bus bus(spec, 7), same(spec, 7), other(spec, 8);
  Time least = kNever, most = 0;
  bool differs = false;
  for (Time at = 0; at < nanoseconds(1'000'000); at += nanoseconds(2'000)) {
    const Time took = bus.read(at, at, 64, BusUse::work) - at;
    EXPECT_EQ(same.read(at, at, 64, BusUse::work) - at, took);
    differs = differs || other.read(at, at, 64, BusUse::work) - at != took;
    least = std::min(least, took);
    most = std::max(most, took);
  }
  EXPECT_TRUE(differs);
  EXPECT_NEAR(static_cast<double>(least), 568e3, 2e3);
  EXPECT_NEAR(static_cast<double>(most), 648e3, 2e3);
}

TEST(Bus, BytesAreCountedByWhatTheyAreFor) {
  Bus bus(kGen3);
  (void)bus.read(0, 0, 512, BusUse::payload);  // 24 + 2 x 20 + 512
  (void)bus.write(0, 0, 64, BusUse::completion);
  EXPECT_EQ(bus.bytes(BusUse::payload), 576U);
  EXPECT_EQ(bus.bytes(BusUse::completion), 88U);
  EXPECT_EQ(bus.bytes(), 664U);
}

TEST(Bus, WithoutAGenerationItIsFree) {
  Bus bus(PcieSpec{});
  EXPECT_EQ(bus.read(0, 7, 4096, BusUse::payload), 7);
  EXPECT_EQ(bus.bytes(), 0U);
}

}  // namespace
}  // namespace weft::sim
