// The stateful card's registry: a program that names memory which no rule of the stateless side opens is refused before
// a packet leaves, with capabilities and without. Without them the registry is all that keeps it out: the stateless
// card looks at addresses alone.
#include "nic/star/registry.h"

#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Rights;
using nic::StarRegistry;
using nic::Status;
using nic::WorkKind;
using testing::Each;
using testing::ElementsAre;

using Verdict = StarRegistry::Verdict;
using R = wire::StarRights;

nic::StarRule rule_for(std::uint32_t key, std::uint8_t rights, std::uint64_t base, std::uint64_t length) {
  return {.shown = {.key = wire::Key(key), .rights = rights}, .base = base, .length = length};
}

TEST(StarRules, OpenTheirBytesForWhatTheyAllowAndNothingElse) {
  StarRegistry registry;
  const auto never = [](wire::Key) { return false; };
  registry.keep(rule_for(7, R::remote_write, 1000, 100), never);
  const auto judge = [&](std::uint32_t key, std::uint8_t right, std::uint64_t address, std::uint32_t bytes) {
    return registry.judge(wire::Key(key), right, address, bytes);
  };
  EXPECT_EQ(judge(7, R::remote_write, 1000, 100), Verdict::allowed);
  EXPECT_EQ(judge(7, R::remote_write, 1000, 101), Verdict::refused);
  EXPECT_EQ(judge(7, R::remote_write, 999, 1), Verdict::refused);
  EXPECT_EQ(judge(7, R::remote_write, ~std::uint64_t{0}, 8), Verdict::refused);
  EXPECT_EQ(judge(7, R::remote_read, 1000, 1), Verdict::refused);
  EXPECT_EQ(judge(8, R::remote_write, 1000, 1), Verdict::unknown);
  EXPECT_EQ(judge(0, R::remote_write, 0, 1), Verdict::unknown);
  nic::StarRule foreign = rule_for(9, R::remote_write, 1000, 100);
  foreign.domain = 5;
  registry.keep(foreign, never);
  EXPECT_EQ(judge(9, R::remote_write, 1000, 1), Verdict::refused) << "of another protection domain";
  registry.begin(1, 5);
  EXPECT_EQ(judge(7, R::remote_write, 1000, 1), Verdict::unknown);
}

TEST(StarRules, OfWorkUnderWayStay) {
  StarRegistry registry;
  const auto is_in_use = [](wire::Key key) { return key.raw() <= StarRegistry::kRules - 1 && key.raw() != 0; };
  for (std::uint32_t key = 1; key < 5 * StarRegistry::kRules; ++key) {
    registry.keep(rule_for(key, R::remote_write, 0, 1), is_in_use);
  }
  for (std::uint32_t key = 1; key < StarRegistry::kRules; ++key) EXPECT_NE(registry.find(wire::Key(key)), nullptr);
}

class Registry : public testing::TestWithParam<bool> {
 protected:
  static BedSpec spec() {
    BedSpec spec = star_bed();
    spec.card.star_trust = GetParam();
    return spec;
  }
  Registry() { before.assign(b.node().arena.bytes.begin(), b.node().arena.bytes.end()); }

  // Work of a hostile program on the stateful host: it fails, and nothing of it has left.
  void expect_kept_in(const Step& step) {
    const std::uint64_t counted = a.node().counted(Refusal::star_not_registered);
    ASSERT_EQ(a.post(step), host::Error::none);
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(statuses(a.node()), ElementsAre(Status::remote_access));
    EXPECT_EQ(a.node().counted(Refusal::star_not_registered), counted + 1);
    EXPECT_EQ(b.node().counted(Refusal::out_of_bounds), 0U);
    EXPECT_EQ(b.node().counted(Refusal::star_not_granted), 0U);
    EXPECT_TRUE(std::ranges::equal(b.node().arena.bytes, before));
    reconnect();
  }
  void reconnect() {
    both = bed.connect();
    a = both.a;
    b = both.b;
  }
  // The work of one step is done.
  void expect_done(const Step& step) {
    ASSERT_EQ(a.post(step), host::Error::none);
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success));
  }
  void tell_peers() {
    b.node().host.ring_doorbells();
    ASSERT_TRUE(bed.run());
  }
  // A region over bytes of the server's arena.
  wire::Key region_of(std::uint64_t offset, std::size_t bytes, Rights rights) {
    const Piece piece{offset, static_cast<std::uint32_t>(bytes)};
    return *b.node().device().register_region(
        b.node().domain, {b.node().bytes(piece).data(), bytes, b.node().arena.address + offset, rights});
  }

  Bed bed{spec()};
  Connection both = bed.connect();
  Endpoint a = both.a, b = both.b;
  std::vector<std::byte> before;
};

INSTANTIATE_TEST_SUITE_P(Star, Registry, testing::Bool(),
                         [](const auto& trusts) { return trusts.param ? "trusting" : "with_capabilities"; });

TEST_P(Registry, KeepsAHostileProgramInsideItsRules) {
  const std::uint64_t end = b.node().arena.bytes.size();
  expect_kept_in({.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = end - 99});
  expect_kept_in({.id = 2, .kind = WorkKind::read, .local = {{0, 100}}, .remote = end});
  expect_kept_in({.id = 3, .kind = WorkKind::write_immediate, .local = {{0, 8}}, .remote = ~std::uint64_t{0} - 3});
  expect_kept_in({.id = 4, .kind = WorkKind::fetch_add, .local = {{0, 8}}, .remote = end});
  expect_kept_in({.id = 5, .kind = WorkKind::write, .local = {{0, 100}}, .remote_key = wire::Key(0xDEAD)});
  const wire::Key readable = region_of(4096, 4096, Rights::remote_read);
  expect_kept_in({.id = 6, .kind = WorkKind::write, .local = {{0, 8}}, .remote = 4096, .remote_key = readable});
  expect_kept_in({.id = 7, .kind = WorkKind::read, .local = {{0, 8}}, .remote = 4095, .remote_key = readable});
  const wire::Key writable = region_of(4096, 4096, Rights::local_write | Rights::remote_write);
  expect_kept_in({.id = 8, .kind = WorkKind::read, .local = {{0, 8}}, .remote = 4096, .remote_key = writable});
  expect_kept_in({.id = 9, .kind = WorkKind::fetch_add, .local = {{0, 8}}, .remote = 4096, .remote_key = writable});
  expect_done({.id = 10, .kind = WorkKind::read, .local = {{0, 4096}}, .remote = 4096, .remote_key = readable});
}

// The rule has let work through before, and is asked for once more before it refuses.
TEST_P(Registry, KeepsAProgramInsideThatHasBeenLetThrough) {
  expect_done({.id = 1, .kind = WorkKind::read, .local = {{0, 100}}, .remote = 4096});
  expect_kept_in({.id = 2, .kind = WorkKind::read, .local = {{0, 100}}, .remote = b.node().arena.bytes.size() - 99});
}

// Another region has the same bytes: without capabilities the stateless card would let the packet in.
TEST_P(Registry, ForgetsARegionThatIsGone) {
  const wire::Key key = region_of(4096, 4096, kEveryRight);
  expect_done({.id = 1, .kind = WorkKind::read, .local = {{0, 100}}, .remote = 4096, .remote_key = key});
  ASSERT_EQ(b.node().device().deregister_region(key), host::Error::none);
  tell_peers();
  if (GetParam()) {
    EXPECT_EQ(a.context().link->registry.find(key), nullptr);
  }
  ASSERT_EQ(a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096, .remote_key = key}),
            host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::remote_access));
  EXPECT_EQ(b.node().counted(Refusal::key_stale), 1U) << "it was asked for again";
  EXPECT_TRUE(std::ranges::equal(b.node().arena.bytes, before));
}

TEST_P(Registry, FollowsARegionThatBecomesAnotherOne) {
  const wire::Key key = region_of(4096, 4096, Rights::remote_read);
  expect_done({.id = 1, .kind = WorkKind::read, .local = {{0, 100}}, .remote = 4096, .remote_key = key});
  const Piece larger{4096, 8192};
  const host::RegionOptions bytes{b.node().bytes(larger).data(), 8192, b.node().arena.address + 4096, kEveryRight};
  ASSERT_EQ(b.node().device().reregister_region(key, {}, &bytes, {}), host::Error::none);
  // At once, before the stateless side has told.
  expect_done({.id = 2, .kind = WorkKind::read, .local = {{0, 100}}, .remote = 12'188, .remote_key = key});
  ASSERT_EQ(b.node().device().reregister_region(key, {}, nullptr, Rights::local_write), host::Error::none);
  tell_peers();
  EXPECT_EQ(a.context().link->registry.find(key), nullptr);
  expect_kept_in({.id = 3, .kind = WorkKind::read, .local = {{0, 100}}, .remote = 4096, .remote_key = key});
}

// Work under way waits until it is known what its key opens now, and goes on.
TEST_P(Registry, IsAskedAgainInTheMidstOfWork) {
  const wire::Key other = region_of(0, 64, kEveryRight);
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 30'000}}, .remote = 32'768});
  a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 30'000}}, .remote = 32'768});
  bed.world().run_until(bed.now() + microseconds(7));
  ASSERT_EQ(b.node().device().reregister_region(other, {}, nullptr, Rights::local_write), host::Error::none);
  b.node().host.ring_doorbells();
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success, Status::success));
  EXPECT_TRUE(same_bytes(a, {0, 30'000}, b, {32'768, 30'000}));
  EXPECT_EQ(a.context().link->registry.number(), 1U);
}

// What has been taken back is told until it has been heard.
TEST_P(Registry, HearsOfWhatIsTakenBackThroughLoss) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const wire::Key key = region_of(4096, 4096, kEveryRight);
    expect_done({.id = 1, .kind = WorkKind::read, .local = {{0, 100}}, .remote = 4096, .remote_key = key});
    for (const sim::HostIndex host : {0U, 1U}) {
      bed.world().set_faults(bed.world().uplink(host), {.loss = 0.4});
    }
    ASSERT_EQ(b.node().device().reregister_region(key, {}, nullptr, Rights::local_write), host::Error::none);
    tell_peers();
    EXPECT_EQ(a.context().link->registry.number(), seed);
    EXPECT_EQ(a.context().link->registry.find(key), nullptr);
    for (const sim::HostIndex host : {0U, 1U}) bed.world().set_faults(bed.world().uplink(host), {});
  }
}

// A program without capabilities binds windows, and its peer uses them.
TEST_P(Registry, ForgetsAWindowThatIsClosed) {
  Node& server = b.node();
  const wire::Key window = *server.device().create_window(server.domain, 2);
  const wire::Key bound(window.raw() ^ 1);
  b.post({.id = 1,
          .kind = WorkKind::bind_window,
          .binding = {.window = window,
                      .region = server.arena.key,
                      .address = server.arena.address + 4096,
                      .length = 4096,
                      .rights = nic::kRemoteRights,
                      .new_key = bound}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(server), ElementsAre(Status::success));
  expect_done({.id = 2, .kind = WorkKind::read, .local = {{0, 4096}}, .remote = 4096, .remote_key = bound});
  if (GetParam()) {
    EXPECT_TRUE(a.context().link->registry.find(bound)->is_window);
  }
  b.post({.id = 3, .kind = WorkKind::local_invalidate, .invalidate = bound});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(server), ElementsAre(Status::success));
  if (GetParam()) {
    EXPECT_EQ(a.context().link->registry.find(bound), nullptr);
  }
  a.post({.id = 4, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096, .remote_key = bound});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::remote_access));
  EXPECT_TRUE(std::ranges::equal(server.arena.bytes, before));
}

}  // namespace
}  // namespace weft::test
