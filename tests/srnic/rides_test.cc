// ACKs that travel with small messages the other way. On a slow link there is always something to travel with.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::WorkKind;

constexpr std::uint32_t kMessages = 12;

BedSpec slow_bed(bool turns_first, sim::FaultPlan faults = {}) {
  BedSpec spec = srnic_bed(std::move(faults));
  spec.link.bits_per_second = 1'000'000'000;
  spec.card.works_per_turn = 1;  // between two messages there is time to hear of something
  spec.turns_first = turns_first;
  return spec;
}

struct Counts {
  std::uint64_t packets = 0, acks = 0, heard = 0;
};
// Both sides send and write to each other as fast as they can; all of it must arrive, in order.
Counts ride(const BedSpec& spec, std::uint32_t bytes = 64) {
  Bed bed(spec);
  const auto [a, b] = bed.connect({.mtu = kMtu});
  const std::uint32_t half = kMessages * bytes;  // of each arena: what is sent, then what comes
  for (const Endpoint& from : {a, b}) {
    for (std::uint32_t i = 0; i < kMessages; i += 2) from.receive(100 + i, {{half + i * bytes, bytes}});
  }
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    for (const Endpoint& from : {a, b}) {
      const WorkKind kind = i % 2 == 0 ? WorkKind::send : WorkKind::write;
      EXPECT_EQ(
          from.post({.id = i, .kind = kind, .local = {{i * bytes, bytes}}, .remote = std::uint64_t{half} + i * bytes}),
          host::Error::none);
    }
  }
  EXPECT_TRUE(bed.run());
  Counts counts;
  for (const Endpoint& at : {a, b}) {
    std::vector<std::uint64_t> sent, received;
    for (const nic::Completion& c : drain(at.node())) {
      EXPECT_EQ(c.status, nic::Status::success) << c.id;
      (c.id < 100 ? sent : received).push_back(c.id);
    }
    EXPECT_EQ(sent.size(), kMessages);
    EXPECT_EQ(received.size(), kMessages / 2);
    EXPECT_TRUE(std::ranges::is_sorted(sent) && std::ranges::is_sorted(received));
    counts.packets += at.node().counted(Counter::sent_pkts);
    counts.acks += at.node().counted(Counter::acks_sent);
    counts.heard += at.node().counted(Counter::acks_rcvd);
  }
  EXPECT_TRUE(same_bytes(a, {0, half}, b, {half, half}));
  EXPECT_TRUE(same_bytes(b, {0, half}, a, {half, half}));
  expect_nothing_held(bed);
  return counts;
}

TEST(Rides, WhatIsOwedTravelsWithMessagesTheOtherWay) {
  const Counts apart = ride(slow_bed(false)), together = ride(slow_bed(true));
  EXPECT_EQ(apart.packets, 2 * kMessages + apart.acks);
  EXPECT_LE(together.packets, 2 * kMessages + 4) << "no more than two ACKs a side had nothing to travel with";
  EXPECT_GE(together.acks, kMessages);
  EXPECT_EQ(together.heard, together.acks);
}

TEST(Rides, NothingTravelsWithLargeMessages) {
  const Counts counts = ride(slow_bed(true), 2 * kMtu);
  EXPECT_EQ(counts.packets, 2 * 2 * kMessages + counts.acks);
}

// A lost, damaged, doubled or late packet takes its ACK with it; the next ACK says as much.
TEST(Rides, EverySingleFaultIsMended) {
  constexpr sim::Fault kFaults[] = {sim::Fault::drop, sim::Fault::duplicate, sim::Fault::delay, sim::Fault::corrupt,
                                    sim::Fault::mark};
  for (const sim::Fault fault : kFaults) {
    for (std::uint64_t nth = 1; nth <= 2 * kMessages + 2; ++nth) {
      SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << " at packet " << nth);
      sim::FaultPlan plan;
      plan.script.push_back({fault, nth});
      (void)ride(slow_bed(true, plan));
    }
  }
}

}  // namespace
}  // namespace weft::test
