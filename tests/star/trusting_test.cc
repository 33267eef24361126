// A stateless card that trusts its peers' cards (CardConfig::star_trust): packets of the paper's 20 bytes, which show
// nothing. One that was not told to takes none of them.
#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

BedSpec trusting_bed() {
  BedSpec spec = star_bed();
  spec.card.star_trust = true;
  return spec;
}

TEST(Trusting, EveryOperationWorksInBothDirections) {
  Bed bed(trusting_bed());
  for (const bool from_stateless : {false, true}) {
    const Connection both = bed.connect();
    Endpoint a = from_stateless ? both.b : both.a, b = from_stateless ? both.a : both.b;
    b.receive(1, {{0, 3000}});
    a.post({.id = 2, .kind = WorkKind::send, .local = {{8192, 3000}}});
    a.post({.id = 3, .kind = WorkKind::write, .local = {{16384, 3000}}, .remote = 24576});
    a.post({.id = 4, .kind = WorkKind::read, .local = {{32768, 3000}}, .remote = 40960});
    a.post({.id = 5, .kind = WorkKind::fetch_add, .local = {{48000, 8}}, .remote = 56000, .compare_add = 5});
    const std::uint64_t word = b.node().word(56000);
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success, Status::success, Status::success, Status::success));
    EXPECT_THAT(statuses(b.node()), ElementsAre(Status::success));
    EXPECT_TRUE(same_bytes(a, {8192, 3000}, b, {0, 3000}));
    EXPECT_TRUE(same_bytes(a, {16384, 3000}, b, {24576, 3000}));
    EXPECT_TRUE(same_bytes(a, {32768, 3000}, b, {40960, 3000}));
    EXPECT_EQ(b.node().word(56000), word + 5);
    EXPECT_EQ(a.node().word(48000), word);
  }
}

// The client has written once, so that the state has moved. What the server makes of a packet that shows nothing.
Refusal after_plain_packet(bool trusts, std::uint64_t offset) {
  BedSpec spec = star_bed();
  spec.card.star_trust = trusts;
  Bed bed(spec);
  auto [a, b] = bed.connect();
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096});
  EXPECT_TRUE(bed.run());
  wire::Headers h;
  h.bth.opcode = wire::Opcode::star_rd;
  h.bth.destination = a.qp().qpn();
  wire::StarView::set_guard(h, {});
  h.reth.address = b.node().arena.address + offset;
  wire::StarView::set_opt(h, wire::StarOpt::write);
  wire::StarView::set_plain(h);
  const std::vector<std::byte> before(b.node().arena.bytes.begin(), b.node().arena.bytes.end());
  inject(bed, {.source = a.node().host.address(), .destination = b.node().host.address()}, h,
         std::vector<std::byte>(8, std::byte{0xE}));
  bed.world().run_until(bed.now() + microseconds(50));
  const bool changed = !std::ranges::equal(b.node().arena.bytes, before);
  for (const Refusal r : {Refusal::star_bad_capability, Refusal::out_of_bounds}) {
    if (b.node().counted(r) == 0) continue;
    EXPECT_FALSE(changed);
    return r;
  }
  EXPECT_TRUE(changed);
  return Refusal::none;
}

TEST(Trusting, APacketThatShowsNothingIsTakenOnlyByACardThatTrusts) {
  EXPECT_EQ(after_plain_packet(true, 8192), Refusal::none);
  EXPECT_EQ(after_plain_packet(false, 8192), Refusal::star_bad_capability);
}

TEST(Trusting, MemoryThatIsNotRegisteredStaysClosed) {
  EXPECT_EQ(after_plain_packet(true, star_bed().arena_bytes - 7), Refusal::out_of_bounds);
}

}  // namespace
}  // namespace weft::test
