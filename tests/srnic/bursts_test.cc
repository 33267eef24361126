// Bursts: packets of a message that travel as one, as they do between programs that share memory. They mean what the
// packets would have meant one by one, whatever happens to them on the way.
#include "nic/srnic/burst.h"
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;

constexpr std::uint32_t kBurst = 4 * kMtu, kBytes = 10 * kMtu - 24;  // of ten packets: bursts of four, four and two
constexpr std::uint64_t kPackets = 10, kBursts = 3;

BedSpec with_bursts(sim::FaultPlan faults = {}) {
  constexpr std::uint64_t kNever = 1'000'000;
  faults.script.push_back({sim::Fault::drop, kNever});  // with a plan, what travels is counted
  BedSpec spec = srnic_bed(std::move(faults));
  spec.burst_bytes = kBurst;
  return spec;
}

// One message of each kind, each with a place of its own; all of it must arrive.
struct Outcome {
  std::uint64_t travelled = 0, packets = 0, again = 0;
};
Outcome exchange(const BedSpec& spec) {
  Bed bed(spec);
  const auto [a, b] = bed.connect({.mtu = kMtu});
  constexpr WorkKind kKinds[] = {WorkKind::send, WorkKind::write_immediate, WorkKind::read, WorkKind::write};
  b.receive(100, {{0, kBytes}});
  b.receive(101, {});
  for (std::uint64_t i = 0; i < std::size(kKinds); ++i) {
    EXPECT_EQ(a.post({.id = i, .kind = kKinds[i], .local = {{i * 4096, kBytes}}, .remote = i * 4096}),
              host::Error::none);
  }
  EXPECT_TRUE(bed.run());
  const auto sent = drain(a.node()), received = drain(b.node());
  EXPECT_THAT(ids(sent), testing::ElementsAre(0, 1, 2, 3));
  for (const nic::Completion& c : sent) EXPECT_EQ(c.status, Status::success) << c.id;
  EXPECT_THAT(ids(received), testing::ElementsAre(100, 101));
  for (const nic::Completion& c : received) EXPECT_EQ(c.bytes, kBytes);
  for (std::uint64_t i = 0; i < std::size(kKinds); ++i) {
    EXPECT_TRUE(same_bytes(a, {i * 4096, kBytes}, b, {i * 4096, kBytes})) << i;
  }
  expect_nothing_held(bed);
  return {.travelled = bed.world().fault_counters().offered,
          .packets = a.node().counted(Counter::sent_pkts) + b.node().counted(Counter::sent_pkts),
          .again = a.node().counted(Counter::retransmitted_pkts) + b.node().counted(Counter::read_responses_resent)};
}

// Four messages of ten packets, a READ's request and what acknowledges them all.
TEST(Bursts, TravelAsOneAndCountAsMany) {
  BedSpec single = with_bursts();
  single.burst_bytes = 0;
  const Outcome apart = exchange(single), joined = exchange(with_bursts());
  EXPECT_GE(apart.travelled, 4 * kPackets);
  EXPECT_LE(joined.travelled, apart.travelled - 4 * (kPackets - kBursts));
  EXPECT_EQ(joined.again, 0U);
  EXPECT_GE(joined.packets, 4 * kPackets);
}

// Whatever befalls any one of them.
class OneFault : public testing::TestWithParam<sim::Fault> {};
TEST_P(OneFault, AtAnyBurstIsMended) {
  const std::uint64_t all = exchange(with_bursts()).travelled;
  ASSERT_GE(all, 4 * kBursts);
  for (std::uint64_t nth = 1; nth <= all; ++nth) {
    SCOPED_TRACE(nth);
    sim::FaultPlan plan;
    plan.script.push_back({GetParam(), nth});
    exchange(with_bursts(plan));
  }
}
INSTANTIATE_TEST_SUITE_P(Faults, OneFault,
                         testing::Values(sim::Fault::drop, sim::Fault::duplicate, sim::Fault::delay,
                                         sim::Fault::corrupt));

// Taken apart, its parts would have been answers, and those have no ACKs.
TEST(Bursts, BringNoReceipts) {
  for (const wire::Opcode opcode : {wire::Opcode::srnic_send_only, wire::Opcode::srnic_write_only}) {
    wire::Packet p;
    p.packets = 2;
    p.headers.bth.opcode = opcode;
    EXPECT_TRUE(wire::may_be_burst(p));
    p.headers.bth.opcode = static_cast<wire::Opcode>(static_cast<std::uint8_t>(opcode) | 0x20);
    ASSERT_TRUE(wire::info(p.headers.bth.opcode).srnic_ack);
    EXPECT_FALSE(wire::may_be_burst(p));
  }
}

// Bug: a local peer that joined them gave a kernel's step more bytes than a step may have.
TEST(Bursts, BringNothingToKernels) {
  using enum wire::Opcode;
  for (const wire::Opcode opcode : {srnic_rpc, srnic_rpc_write_first, srnic_rpc_write_middle, srnic_rpc_write_last,
                                    srnic_rpc_write_only, srnic_reply, srnic_reply_imm}) {
    wire::Packet p;
    p.packets = 2;
    p.headers.bth.opcode = opcode;
    EXPECT_FALSE(wire::may_be_burst(p)) << wire::info(opcode).name;
  }
}

TEST(Bursts, ThatAreLostAreSentAgainOneByOne) {
  // The first burst of the SEND.
  EXPECT_GE(exchange(with_bursts(dropping({1}))).again, 4U);
}

// A burst that is refused because nobody has posted a receive comes again, whole or in parts.
TEST(Bursts, WaitForAReceive) {
  Bed bed(with_bursts());
  const auto [a, b] = bed.connect({.mtu = kMtu});
  ASSERT_EQ(a.post({.id = 1, .local = {{0, kBytes}}}), host::Error::none);
  ASSERT_FALSE(bed.run(microseconds(20)));
  b.receive(2, {{0, kBytes}});
  ASSERT_TRUE(bed.run());
  EXPECT_GE(b.node().counted(Counter::send_rnr_err), 1U);
  EXPECT_THAT(ids(drain(b.node())), testing::ElementsAre(2));
  EXPECT_TRUE(same_bytes(a, {0, kBytes}, b, {0, kBytes}));
}

// Opcodes, PSNs, places and addresses are those that single packets would have had.
TEST(Bursts, ComeApartIntoTheirPackets) {
  std::vector<std::byte> bytes(3 * kMtu - 4);
  wire::Packet burst;
  burst.headers.bth.opcode = wire::Opcode::srnic_write_only_imm;
  burst.headers.bth.psn = wire::Psn(0xFFFFFF);
  burst.headers.bth.ack_request = burst.headers.bth.solicited = true;
  burst.headers.sequence = wire::Sequence(5, 6, 0);
  burst.headers.reth = {.address = 1000, .key = wire::Key(7), .length = 0};
  burst.payload = bytes;
  burst.packets = 3;
  std::vector<wire::Packet> apart;
  nic::split_burst(burst, 8, [&](const wire::Packet& p) { apart.push_back(p); });
  ASSERT_EQ(apart.size(), 3U);
  using enum wire::Opcode;
  const wire::Opcode opcodes[] = {srnic_write_first, srnic_write_middle, srnic_write_last_imm};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const wire::Headers& h = apart[i].headers;
    EXPECT_EQ(h.bth.opcode, opcodes[i]);
    EXPECT_EQ(h.bth.psn, wire::Psn(0xFFFFFF).plus(i));
    EXPECT_EQ(h.bth.ack_request, i == 2);
    EXPECT_EQ(h.bth.solicited, i == 2);
    EXPECT_EQ(h.sequence, wire::Sequence(5, 6, i));
    EXPECT_EQ(h.reth.address, 1000 + i * kMtu);
    EXPECT_EQ(apart[i].payload.near().data(), bytes.data() + i * kMtu);
    EXPECT_EQ(apart[i].payload.size(), i == 2 ? kMtu - 4 : kMtu);
    EXPECT_EQ(apart[i].packets, 1U);
  }
}

// One that says that it stands for more packets, or fewer, than it has bytes for is refused.
TEST(Bursts, OfAnotherLengthThanTheySayAreRefused) {
  for (const std::uint32_t packets : {2U, 4U}) {
    Bed bed(with_bursts());
    const auto [a, b] = bed.connect({.mtu = kMtu});
    std::vector<std::byte> bytes(3 * kMtu);
    wire::Packet burst;
    burst.flow.source = a.node().host.address();
    burst.flow.destination = b.node().host.address();
    burst.headers.bth = {
        .opcode = wire::Opcode::srnic_write_first, .destination = b.qp().qpn(), .psn = b.context().expected_psn};
    burst.headers.reth = {.address = b.node().arena.address, .key = b.node().arena.key, .length = 0};
    sim::ParcelPool& parcels = bed.world().parcels();
    const sim::ParcelId id = parcels.make(burst.flow, burst.headers, std::span<const std::byte>(bytes));
    parcels[id].packets = static_cast<std::uint16_t>(packets);
    bed.world().send(a.node().host.index(), id);
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(b.node().counted(Refusal::bad_length), 1U) << packets;
  }
}

}  // namespace
}  // namespace weft::test
