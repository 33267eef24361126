// What the stateless side says of its state and its rules, and its peer believes: from nobody else, and not what it
// said before.
#include <array>

#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Rights;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

// With capabilities, and without: then the rules are all that keeps a program in.
class States : public testing::TestWithParam<bool> {
 protected:
  static BedSpec spec() {
    BedSpec spec = star_bed();
    spec.card.star_trust = GetParam();
    return spec;
  }
  States() {
    a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096});
    EXPECT_TRUE(bed.run());
    EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success));
  }

  [[nodiscard]] const nic::StarLink& link() const { return *a.context().link; }
  void settle() { bed.world().run_until(bed.now() + microseconds(50)); }
  // From the stateless host's address to the stateful side, with M.
  void send_up(wire::Opcode opcode, std::span<const std::byte> payload, wire::Psn psn = {}) {
    wire::Headers h;
    h.bth.opcode = opcode;
    h.bth.destination = a.qp().qpn();
    h.bth.psn = psn;
    h.bth.solicited = true;
    wire::StarView::set_answer(h, {Refusal::none, link().clock});
    h.reth.length = static_cast<std::uint32_t>(payload.size());
    inject(bed, {.source = b.node().host.address(), .destination = a.node().host.address()}, h, payload, 1);
  }
  // An EA of the stateful side for a state with this number.
  void send_heard(std::uint32_t rules) {
    wire::Headers h;
    h.bth.opcode = wire::Opcode::star_ea;
    h.bth.destination = a.qp().qpn();
    h.bth.solicited = true;
    wire::StarView::set_guard(h, {link().control, 0});
    if (GetParam()) {
      h.reth.address = link().control.base;
      wire::StarView::set_plain(h);
    }
    std::array<std::byte, wire::StarHeard::kBytes> payload;
    wire::star_write(payload.data(), wire::StarHeard{link().works_posted, link().receives_posted,
                                                     nic::StarLink::kRemote, rules, link().control.epoch, false});
    h.reth.length = wire::StarHeard::kBytes;
    inject(bed, {.source = a.node().host.address(), .destination = b.node().host.address()}, h, payload);
  }
  // The server's host takes back what it has granted.
  void take_back() {
    ASSERT_EQ(b.node().device().reregister_region(b.node().arena.key, {}, nullptr, Rights::local_write),
              host::Error::none);
    b.node().host.ring_doorbells();
  }
  // The state as it was told last, with these changes.
  [[nodiscard]] wire::StarInitial state() const {
    return {.qpn = link().remote_qpn,
            .rules = link().registry.number(),
            .domain = link().registry.domain(),
            .block = link().control.base,
            .epoch = link().control.epoch,
            .trusts = GetParam(),
            .era = link().era,
            .control = link().control.mac};
  }
  void send_state(wire::StarInitial s, const wire::StarMac& key) {
    std::array<std::byte, wire::StarInitial::kBytes> payload;
    wire::star_write(payload.data(), s);
    s.seal = nic::seal_of(key, a.qp().qpn(), {}, std::span(payload).first<wire::StarInitial::kSealed>());
    wire::star_write(payload.data(), s);
    send_up(wire::Opcode::star_wqep, payload);
    settle();
  }

  Bed bed{spec()};
  Connection both = bed.connect();
  Endpoint a = both.a, b = both.b;
};

INSTANTIATE_TEST_SUITE_P(Star, States, testing::Bool(),
                         [](const auto& trusts) { return trusts.param ? "trusting" : "with_capabilities"; });

// Whoever knows all but the key says that the connection has another block, and that it takes back nothing.
TEST_P(States, star_bad_seal) {
  const nic::StarLink before = link();
  wire::StarInitial forged = state();
  forged.block += 1;
  forged.rules += 5;
  wire::StarMac other = before.seal_key;
  other[3] ^= 1;
  for (const wire::StarMac& key : {other, wire::StarMac{}}) {
    forged.key = key;
    send_state(forged, key);
  }
  EXPECT_EQ(a.node().counted(Refusal::star_bad_seal), 2U);
  EXPECT_EQ(link().control, before.control);
  EXPECT_EQ(link().registry.number(), before.registry.number());
  send_state(forged, before.seal_key);
  EXPECT_EQ(link().registry.number(), before.registry.number() + 5) << "it was the seal alone that was wrong";
}

// Bug: any answer to the question was believed.
TEST_P(States, ARuleIsTakenFromTheStatelessCardAlone) {
  const Piece piece{8192, 4096};
  const wire::Key key = *b.node().device().register_region(
      b.node().domain,
      {b.node().bytes(piece).data(), piece.length, b.node().arena.address + piece.offset, Rights::remote_read});
  a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 8}}, .remote = 8192, .remote_key = key});
  while (!link().question_under_way) bed.world().run_until(bed.now() + nanoseconds(100));
  const wire::Psn question = a.context().next_psn.plus(-1U);
  wire::StarGrant forged{.key = key,
                         .rights = 7,
                         .epoch = link().control.epoch,
                         .base = 0,
                         .length = ~std::uint64_t{0},
                         .rules = link().registry.number(),
                         .domain = link().registry.domain()};
  std::array<std::byte, wire::StarGrant::kBytes> payload;
  wire::star_write(payload.data(), forged);
  send_up(wire::Opcode::star_ea_up, payload, question);
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(a.node().counted(Refusal::star_bad_seal), 1U);
  EXPECT_EQ(a.node().counted(Refusal::star_not_registered), 1U);
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::remote_access));
}

// Bug: an EA to an earlier state was taken for one to the newest, which was lost and not said again.
TEST_P(States, AnAnswerToAnEarlierStateIsNotOneToTheNewest) {
  const auto up = bed.world().uplink(1);
  bed.world().set_faults(up, {.loss = 1});
  take_back();
  bed.world().run_until(bed.now() + microseconds(5));
  send_heard(0);
  bed.world().run_until(bed.now() + microseconds(5));
  bed.world().set_faults(up, {});
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(link().registry.number(), 1U);
}

// Bug: a late copy of an earlier state brought back a capability for the block that had ended.
TEST_P(States, AnEarlierStateChangesNothing) {
  const wire::StarInitial earlier = state();
  const wire::StarMac key = link().seal_key;
  b.node().device().renew_capabilities();
  b.node().device().end_old_capabilities();
  take_back();
  ASSERT_TRUE(bed.run());
  const nic::StarLink now = link();
  EXPECT_EQ(now.registry.number(), 1U);
  send_state(earlier, key);
  EXPECT_EQ(link().control, now.control);
  EXPECT_EQ(link().registry.number(), 1U);
  b.receive(7, {{0, 64}});
  a.post({.id = 3, .local = {{0, 64}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success));
}

// The key does not travel once it is known to be there: who listens later learns nothing to seal with.
TEST_P(States, TheKeyTravelsWithTheFirstStateAlone) {
  a.context().link->migrated = false;  // as if it had never come
  take_back();
  bed.world().run_until(bed.now() + microseconds(100));
  EXPECT_GT(a.node().counted(Refusal::star_bad_seal), 0U) << "it brings no key to open it with";
}

}  // namespace
}  // namespace weft::test
