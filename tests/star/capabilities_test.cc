// What a hostile client's card can send, and what a stateless card makes of it: every field forged, stale copies, old
// epochs, foreign memory, floods. Each is refused, counted by its name, and changes nothing.
#include <array>
#include <functional>
#include <map>

#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

constexpr std::array<std::byte, 8> kEvil{std::byte{0xE}, std::byte{0xE}, std::byte{0xE}, std::byte{0xE},
                                         std::byte{0xE}, std::byte{0xE}, std::byte{0xE}, std::byte{0xE}};

// A connection on which the client has written once, so that it holds a capability for the server's arena.
class Hostile : public testing::Test {
 protected:
  Hostile() {
    a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096});
    EXPECT_TRUE(bed.run());
    EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success));
    good = a.context().link->registry.find(b.node().arena.key)->shown;
    before.assign(b.node().arena.bytes.begin(), b.node().arena.bytes.end());
  }

  // An RD that the stateless card would take.
  [[nodiscard]] wire::Headers rd(const wire::Capability& shown, std::uint64_t offset = 8192) const {
    wire::Headers h;
    h.bth.opcode = wire::Opcode::star_rd;
    h.bth.destination = a.qp().qpn();
    h.bth.psn = wire::Psn(77);
    wire::StarView::set_guard(h, {shown, static_cast<std::uint32_t>(bed.now() / microseconds(1) + 100)});
    h.reth.address = b.node().arena.address + offset;
    wire::StarView::set_opt(h, wire::StarOpt::write);
    return h;
  }
  [[nodiscard]] wire::Flow flow() const {
    return {.source = a.node().host.address(), .destination = b.node().host.address()};
  }
  void send(const wire::Headers& h) { send(flow(), h); }
  void send(const wire::Flow& f, const wire::Headers& h) {
    inject(bed, f, h, kEvil);
    bed.world().run_until(bed.now() + microseconds(50));
  }
  void expect_refused(Refusal why) {
    EXPECT_EQ(b.node().counted(why), ++refused[why]) << text(why).counter;
    EXPECT_TRUE(std::ranges::equal(b.node().arena.bytes, before)) << "memory has changed";
  }

  Bed bed{star_bed()};
  Connection both = bed.connect();
  Endpoint a = both.a, b = both.b;
  wire::Capability good{};
  std::vector<std::byte> before;
  std::map<Refusal, std::uint64_t> refused;
};

TEST_F(Hostile, TheCapabilityItselfIsGood) {
  send(rd(good));
  EXPECT_TRUE(std::ranges::equal(b.node().bytes({8192, 8}), kEvil));
}

TEST_F(Hostile, EveryForgedFieldIsRefused) {
  const auto forged = [&](const std::function<void(wire::Capability&)>& change) {
    wire::Capability c = good;
    change(c);
    send(rd(c));
    expect_refused(Refusal::star_bad_capability);
  };
  forged([](wire::Capability& c) { c.key = wire::Key(c.key.raw() ^ 0x100); });
  forged([](wire::Capability& c) { c.rights = 0xFF; });
  forged([](wire::Capability& c) { c.length = 1; });
  forged([](wire::Capability& c) { c.base = 1; });
  for (std::size_t i = 0; i < good.mac.size(); ++i) {
    forged([i](wire::Capability& c) { c.mac[i] ^= 1; });
  }
  wire::Headers h = rd(good);
  h.bth.destination = wire::Qpn(h.bth.destination.raw() ^ 1);  // another connection's
  send(h);
  expect_refused(Refusal::star_bad_capability);
  wire::Flow f = flow();
  f.source = wire::Address::v4(10, 9, 9, 9);  // another host's
  send(f, rd(good));
  expect_refused(Refusal::star_bad_capability);
}

TEST_F(Hostile, AnEpochThatNeverWasOrHasEndedIsRefused) {
  wire::Capability c = good;
  c.epoch ^= 0x55;
  send(rd(c));
  expect_refused(Refusal::star_stale_epoch);
  b.node().device().renew_capabilities();
  b.node().host.ring_doorbells();
  ASSERT_TRUE(bed.run());
  b.node().device().end_old_capabilities();
  send(rd(good));
  expect_refused(Refusal::star_stale_epoch);
}

TEST_F(Hostile, AStaleCopyIsRefused) {
  wire::Headers h = rd(good);
  bed.world().run_until(bed.now() + milliseconds(1));
  send(h);
  expect_refused(Refusal::star_expired);
}

TEST_F(Hostile, BytesOutsideTheRegionAreRefused) {
  send(rd(good, b.node().arena.bytes.size() - 7));
  expect_refused(Refusal::out_of_bounds);
}

TEST_F(Hostile, ARegionThatIsGoneIsRefused) {
  ASSERT_EQ(b.node().device().deregister_region(b.node().arena.key), host::Error::none);
  send(rd(good));
  expect_refused(Refusal::key_stale);
}

TEST_F(Hostile, ACapabilityForMemoryOpensNoBlock) {
  wire::Headers h = rd(good);
  h.bth.opcode = wire::Opcode::star_cqep;
  inject(bed, flow(), h);
  bed.world().run_until(bed.now() + microseconds(50));
  expect_refused(Refusal::star_not_granted);
}

// The region lets nobody read it, and says so when the client asks for a capability.
TEST_F(Hostile, AForeignDomainsKeyIsNotGranted) {
  Node& server = b.node();
  const host::Domain other = *server.device().create_domain();
  const sim::Memory secret = server.host.allocate(other, 4096, kEveryRight);
  a.post({.id = 2, .kind = WorkKind::read, .local = {{0, 8}}, .remote_key = secret.key});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::remote_access));
  EXPECT_EQ(server.counted(Refusal::key_wrong_domain), 1U);
}

TEST_F(Hostile, AFloodLeavesTheConnectionAsItWas) {
  wire::Capability c = good;
  c.mac[3] ^= 0x10;
  for (int i = 0; i < 5000; ++i) inject(bed, flow(), rd(c), kEvil);
  a.post({.id = 3, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 12288});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success));
  EXPECT_EQ(b.node().counted(Refusal::star_bad_capability), 5000U);
}

// Work goes on while the secret changes, with what was posted under the old one.
TEST(Capabilities, AreRenewedWhileWorkIsUnderWay) {
  for (const bool first : {false, true}) {
    BedSpec spec = star_bed();
    spec.first_is_stateless = first;
    Bed bed(spec);
    auto [a, b] = bed.connect();
    Node& server = first ? a.node() : b.node();
    for (std::uint64_t i = 0; i < 20; ++i) {
      a.post({.id = i, .kind = WorkKind::write, .local = {{1024 * i, 1000}}, .remote = 1024 * i + 30720});
      b.receive(100 + i, {{1024 * i, 1000}});
    }
    bed.world().run_until(microseconds(12));
    server.device().renew_capabilities();
    server.device().end_old_capabilities();
    server.host.ring_doorbells();
    for (std::uint64_t i = 0; i < 20; ++i) a.post({.id = 50 + i, .local = {{1024 * i, 1000}}});
    ASSERT_TRUE(bed.run());
    const std::vector<Status> done = statuses(a.node());
    EXPECT_EQ(done.size(), 40U);
    EXPECT_THAT(done, testing::Each(Status::success));
    for (std::uint64_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(same_bytes(a, {1024 * i, 1000}, b, {1024 * i + 30720, 1000})) << i;
    }
  }
}

// A server that does not serve StaR refuses everything.
TEST(Capabilities, ACardWithoutStatelessConnectionsTakesNothing) {
  BedSpec spec;
  spec.dialect = nic::Dialect::roce;
  Bed bed(spec);
  auto [a, b] = bed.connect();
  wire::Headers h;
  h.bth.opcode = wire::Opcode::star_rd;
  h.bth.destination = b.qp().qpn();
  inject(bed, {.source = a.node().host.address(), .destination = b.node().host.address()}, h, kEvil);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().counted(Refusal::star_off), 1U);
}

}  // namespace
}  // namespace weft::test
