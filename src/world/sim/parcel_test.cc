#include "world/sim/parcel.h"

#include <vector>

#include <gtest/gtest.h>

#include "world/random.h"

namespace weft::sim {
namespace {

using world::Random;

wire::Flow some_flow() {
  wire::Flow flow;
  flow.source = wire::Address::v4(10, 0, 0, 1);
  flow.destination = wire::Address::v4(10, 0, 0, 2);
  return flow;
}

std::vector<std::byte> some_bytes(std::size_t count, Random& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

TEST(WireBytes, CountEverythingOnTheCable) {
  // Preamble and gap 20, Ethernet 14, IPv4 20, UDP 8, BTH 12, payload, ICRC 4, FCS 4.
  EXPECT_EQ(wire_bytes(true, wire::Opcode::rc_send_only, 1024), 20u + 14 + 20 + 8 + 12 + 1024 + 4 + 4);
  EXPECT_EQ(wire_bytes(false, wire::Opcode::rc_send_only, 1024), 20u + 14 + 40 + 8 + 12 + 1024 + 4 + 4);
  EXPECT_EQ(wire_bytes(true, wire::Opcode::rc_write_only, 1),
            20u + 14 + 20 + 8 + 28 + 4 + 4 + 4);  // three bytes of pad
  EXPECT_EQ(wire_bytes(true, wire::Opcode::rc_ack, 0), 20u + 14 + 20 + 8 + 16 + 4 + 4);
  EXPECT_EQ(wire_bytes(true, wire::Opcode::rc_send_only, 0), 20u + 64);  // Ethernet's shortest: 62 would do
}

TEST(ParcelPool, GivesEveryParcelItsOwnBytes) {
  ParcelPool pool;
  Random random(1);
  std::vector<std::pair<ParcelId, std::vector<std::byte>>> made;
  for (std::size_t size = 0; size <= PayloadPool::kMaxBytes; size += 1 + size / 3) {
    made.emplace_back(ParcelId{}, some_bytes(size, random));
    made.back().first = pool.make(some_flow(), {}, made.back().second);
  }
  made.emplace_back(ParcelId{}, some_bytes(PayloadPool::kMaxBytes, random));
  made.back().first = pool.make(some_flow(), {}, made.back().second);

  EXPECT_EQ(pool.in_flight(), made.size());
  for (const auto& [id, bytes] : made) {
    const auto payload = pool[id].payload();
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), bytes.begin(), bytes.end())) << bytes.size();
  }
  for (const auto& [id, bytes] : made) pool.release(id);
  EXPECT_EQ(pool.in_flight(), 0u);
  EXPECT_EQ(pool.payloads_in_flight(), 0u);
}

TEST(ParcelPool, CopiesBytesAndLengthsAlike) {
  ParcelPool pool;
  Random random(2);
  const std::vector<std::byte> bytes = some_bytes(300, random);
  const ParcelId whole = pool.make(some_flow(), {}, bytes);
  const ParcelId copy = pool.copy(whole);
  pool.release(whole);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), pool[copy].payload().begin()));
  EXPECT_EQ(pool[copy].flow, some_flow());

  const ParcelId hollow = pool.make_hollow(1'000'000);  // a length may be any
  const ParcelId hollow_copy = pool.copy(hollow);
  EXPECT_EQ(pool[hollow_copy].payload_bytes, 1'000'000u);
  EXPECT_TRUE(pool[hollow_copy].payload().empty());
  for (const ParcelId id : {copy, hollow, hollow_copy}) pool.release(id);
  EXPECT_EQ(pool.in_flight(), 0u);
}

TEST(ParcelPool, AllocatesNothingOnceItHasGrown) {
  ParcelPool pool;
  Random random(3);
  std::vector<ParcelId> live;
  std::size_t grown = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 1'000; ++i) live.push_back(pool.make(static_cast<std::uint32_t>(1'000)));
    for (; !live.empty(); live.pop_back()) {
      std::swap(live[random.below(live.size())], live.back());
      pool.release(live.back());
    }
    if (round == 0) grown = pool.bytes();
    EXPECT_EQ(pool.bytes(), grown);
  }
}

TEST(ParcelPool, ParcelsDoNotMoveWhileOthersAreMade) {
  ParcelPool pool;
  const ParcelId first = pool.make(64u);
  const Parcel* where = &pool[first];
  for (int i = 0; i < 10'000; ++i) (void)pool.make(0u);
  EXPECT_EQ(where, &pool[first]);
}

TEST(ParcelPoolDeathTest, ReleasingTwiceIsNoticed) {
  ParcelPool pool;
  const ParcelId id = pool.make(0u);
  pool.release(id);
  EXPECT_DEATH(pool.release(id), "live");
}

}  // namespace
}  // namespace weft::sim
