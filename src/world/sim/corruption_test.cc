#include "world/sim/corruption.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using world::Random;

wire::Flow flow_of(bool v4) {
  wire::Flow flow;
  flow.source = v4 ? wire::Address::v4(10, 0, 0, 1) : wire::Address{{0xFD, 1, 2, 3}};
  flow.destination = v4 ? wire::Address::v4(10, 0, 0, 2) : wire::Address{{0xFD, 1, 2, 4}};
  return flow;
}

wire::Headers write_headers() {
  wire::Headers headers;
  headers.bth.opcode = wire::Opcode::rc_write_only;
  headers.bth.destination = wire::Qpn(17);
  headers.bth.psn = wire::Psn(1234);
  headers.reth = {.address = 0x1234'5678'9ABC, .key = wire::Key(99), .length = 201};
  return headers;
}

// What a receiver could act upon. Whatever slips through the checks must not have changed any of it.
void expect_harmless(const Parcel& parcel, const Parcel& original) {
  EXPECT_EQ(parcel.flow.source, original.flow.source);
  EXPECT_EQ(parcel.flow.destination, original.flow.destination);
  EXPECT_EQ(parcel.flow.source_port, original.flow.source_port);
  wire::Headers headers = parcel.headers;
  headers.bth.fecn = headers.bth.becn = false;  // routers may set them
  headers.bth.pad = original.headers.bth.pad;   // the port knows it from the bytes
  EXPECT_EQ(headers, original.headers);
  EXPECT_TRUE(std::equal(parcel.payload().begin(), parcel.payload().end(), original.payload().begin(),
                         original.payload().end()));
}

TEST(Corruption, IsRefusedOrHarmless) {
  ParcelPool pool;
  Random random(1);
  for (const bool v4 : {true, false}) {
    std::map<Refusal, int> refusals;
    std::vector<std::byte> payload(201);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random.next());
    const ParcelId original = pool.make(flow_of(v4), write_headers(), payload);
    for (int i = 0; i < 20'000; ++i) {
      const ParcelId id = pool.copy(original);
      corrupt(pool[id], random);
      ++refusals[pool[id].refusal];
      if (pool[id].refusal == Refusal::none) expect_harmless(pool[id], pool[original]);
      pool.release(id);
    }
    pool.release(original);
    EXPECT_GT(refusals[Refusal::bad_icrc], 10'000);
    EXPECT_GT(refusals[Refusal::none], 50);  // UDP checksum, FECN, reserved bits, ...
    EXPECT_LT(refusals[Refusal::none], 2'500);
    EXPECT_GE(refusals.size(), 5u);  // and damaged lengths, ports, protocols
  }
  EXPECT_EQ(pool.in_flight(), 0u);
}

TEST(Corruption, WorksOnLengthsAndOnTheLargest) {
  ParcelPool pool;
  Random random(2);
  int refused = 0;
  for (int i = 0; i < 1'000; ++i) {
    const ParcelId id = pool.make_hollow(PayloadPool::kMaxBytes);
    pool[id].flow = flow_of(true);
    pool[id].headers = write_headers();
    corrupt(pool[id], random);
    refused += pool[id].refusal != Refusal::none;
    EXPECT_EQ(pool[id].payload_bytes, PayloadPool::kMaxBytes);
    pool.release(id);
  }
  EXPECT_GT(refused, 950);
}

TEST(Corruption, WhatIsNoPacketIsRefusedAsThat) {
  ParcelPool pool;
  Random random(3);
  wire::Headers headers;
  headers.bth.opcode = static_cast<wire::Opcode>(0xFF);
  const ParcelId id = pool.make(flow_of(true), headers, 0u);
  corrupt(pool[id], random);
  EXPECT_EQ(pool[id].refusal, Refusal::unknown_opcode);
}

}  // namespace
}  // namespace weft::sim
