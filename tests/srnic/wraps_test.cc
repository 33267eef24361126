// Every number that goes round: the PSN's 24 bits, and the 20 bits of message and SEND numbers.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::WorkKind;

// As if so much had been sent and received before.
void set_counts(const Endpoint& sender, const Endpoint& receiver, std::uint32_t messages, std::uint32_t sends) {
  nic::Context& a = sender.node().device().card().contexts[sender.qp().slot()];
  nic::Context& b = receiver.node().device().card().contexts[receiver.qp().slot()];
  a.sq_posted = a.sq_next = a.sq_done = messages;
  a.next_ssn = sends;
  b.rq_posted = b.rq_done = sends;
}

void exchange_around(wire::Psn psn, std::uint32_t messages, std::uint32_t sends, bool bitmaps, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << psn.raw() << ", " << messages << ", " << sends << ", seed " << seed);
  BedSpec spec = srnic_bed({.loss = 0.1, .reordering = 0.05});
  spec.seed = seed;
  spec.card.requester_bitmaps = bitmaps;
  Bed bed(spec);
  for (Node& node : bed.nodes()) node.host.set_control_delay(microseconds(1));
  auto [a, b] = bed.connect({.mtu = kMtu, .psn = psn});
  set_counts(a, b, messages, sends);
  constexpr WorkKind kKinds[] = {WorkKind::send, WorkKind::read, WorkKind::write_immediate, WorkKind::fetch_add};
  std::vector<std::uint64_t> all, received;
  const std::uint64_t before = b.node().word(0);
  for (std::uint64_t i = 1; i <= 40; ++i) {
    const WorkKind kind = kKinds[i % 4];
    if (i % 2 == 0) {
      b.receive(i, {{i * 1000, 600}});
      received.push_back(i);
    }
    const std::uint32_t bytes = kind == WorkKind::fetch_add ? 8 : 600;
    a.post({.id = i,
            .kind = kind,
            .local = {{i * 1000, bytes}},
            .remote = kind == WorkKind::fetch_add ? 0 : i * 1000,
            .compare_add = 1});
    all.push_back(i);
  }
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(ids(drain(a.node())), all);
  EXPECT_EQ(ids(drain(b.node())), received);
  EXPECT_EQ(b.node().word(0), before + 10);
  for (std::uint64_t i = 1; i <= 40; ++i) {
    EXPECT_TRUE(i % 4 == 3 || same_bytes(a, {i * 1000, 600}, b, {i * 1000, 600})) << i;
  }
  expect_nothing_held(bed);
}

TEST(Wrap, OfThePsn) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) exchange_around(wire::Psn(0xFF'FFE0), 0, 0, seed % 2 == 0, seed);
}
TEST(Wrap, OfTheMessageNumber) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) exchange_around(wire::Psn(100), 0xF'FFF0, 0, seed % 2 == 0, seed);
}
TEST(Wrap, OfTheSendNumber) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) exchange_around(wire::Psn(100), 0, 0xF'FFF8, seed % 2 == 0, seed);
}
TEST(Wrap, OfAllCountsAtOnce) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    exchange_around(wire::Psn(0xFF'FFF0), 0xFFFF'FFF0, 0xFFFF'FFF8, seed % 2 == 0, seed);
  }
}

}  // namespace
}  // namespace weft::test
