// Packets that come twice: because the stateless host stood still, and nothing was lost; because the network made a
// copy; because somebody who saw one plays it again.
#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

class StandingStill : public testing::Test {
 protected:
  // The client writes while the server hears nothing for 60 us. True: it was done 10 us after that.
  bool writes() {
    const Time start = bed.now();
    b.node().host.stop(start, microseconds(60));
    a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 1000}}, .remote = 4096});
    bed.world().run_until(start + microseconds(70));
    const bool done = statuses(a.node()) == std::vector{Status::success};
    EXPECT_TRUE(bed.run());
    drain(a.node());
    EXPECT_TRUE(same_bytes(a, {0, 1000}, b, {4096, 1000}));
    return done;
  }
  [[nodiscard]] std::uint64_t sent_again() const { return a.node().counted(nic::Counter::retransmitted_pkts); }

  Bed bed{star_bed()};
  Connection both = bed.connect();
  Endpoint a = both.a, b = both.b;
};

// Work waited until copies of its packets had expired, though each copy had been answered.
TEST_F(StandingStill, CopiesThatHaveAllBeenAnsweredAreNotWaitedFor) {
  for (int i = 0; i < 20; ++i) a.post({.kind = WorkKind::write, .local = {{0, 1000}}, .remote = 4096});
  ASSERT_TRUE(bed.run());
  drain(a.node());
  const std::uint64_t before = sent_again();
  EXPECT_TRUE(writes());
  EXPECT_GT(sent_again(), before);
}

// A timeout that was too short stayed so.
TEST_F(StandingStill, ATimeoutThatWasTooShortGrows) {
  for (int i = 0; i < 20; ++i) a.post({.kind = WorkKind::write, .local = {{0, 1000}}, .remote = 4096});
  ASSERT_TRUE(bed.run());
  drain(a.node());
  (void)writes();
  const std::uint64_t once = sent_again();
  EXPECT_GT(once, 0U);
  (void)writes();
  EXPECT_EQ(sent_again(), once);
}

// What the client has written, and its card has been told is there, as it was on the wire.
class Copied : public testing::TestWithParam<nic::WorkKind> {
 protected:
  static constexpr Piece kTarget{4096, 100};

  // Of one packet, so that its number is the one before the next.
  void transfer(std::uint64_t from) {
    const bool sends = GetParam() == WorkKind::send;
    if (sends) b.receive(1, {kTarget});
    a.post({.id = 1, .kind = GetParam(), .local = {{from, kTarget.length}}, .remote = sends ? 0 : kTarget.offset});
    bed.world().run_until(bed.now() + microseconds(40));
    EXPECT_THAT(statuses(a.node()), ElementsAre(Status::success));
    drain(b.node());
    EXPECT_TRUE(same_bytes(a, {from, kTarget.length}, b, kTarget));
  }
  // A SEND's packet is followed by its CQEP.
  [[nodiscard]] wire::Headers rd() const {
    const nic::StarLink& l = *a.context().link;
    wire::Headers h;
    h.bth.opcode = wire::Opcode::star_rd;
    h.bth.destination = a.qp().qpn();
    h.bth.psn = a.context().next_psn.plus(GetParam() == WorkKind::send ? -2U : -1U);
    const wire::Capability shown =
        GetParam() == WorkKind::send ? element() : l.registry.find(b.node().arena.key)->shown;
    const auto expiry = static_cast<std::uint32_t>(bed.now() / microseconds(1) + 100);
    wire::StarView::set_guard(h, {shown, expiry, nic::incarnation_of(l.control.base)});
    h.reth.address = b.node().arena.address + kTarget.offset;
    h.reth.length = kTarget.length;
    wire::StarView::set_opt(h, wire::StarOpt::write);
    return h;
  }
  [[nodiscard]] wire::Capability element() const {
    const nic::RemoteWork& r = a.context().link->receives[0];
    const wire::StarSge s = r.sge(0);
    return {s.key, wire::StarRights::work_write, r.epoch, s.length, s.address, s.mac};
  }
  void deliver(const wire::Headers& h, std::uint64_t from) {
    inject(bed, {.source = a.node().host.address(), .destination = b.node().host.address()}, h,
           a.node().bytes({from, kTarget.length}));
    bed.world().run_until(bed.now() + microseconds(20));
  }

  Bed bed{star_bed()};
  Connection both = bed.connect();
  Endpoint a = both.a, b = both.b;
};

INSTANTIATE_TEST_SUITE_P(Data, Copied, testing::Values(WorkKind::send, WorkKind::write),
                         [](const auto& kind) { return kind.param == WorkKind::send ? "Send" : "Write"; });

// Bug: a copy that came after its memory had got new contents wrote the old ones again.
TEST_P(Copied, WritesNothingAndIsAnswered) {
  transfer(0);
  const wire::Headers copy = rd();
  for (std::byte& byte : b.node().bytes(kTarget)) byte = std::byte{0x5A};  // the server goes on with its memory
  const std::uint64_t answers = b.node().counted(nic::Counter::acks_sent);
  deliver(copy, 0);
  EXPECT_EQ(b.node().counted(nic::Counter::duplicate_request), 1U);
  EXPECT_EQ(b.node().counted(nic::Counter::acks_sent), answers + 1);
  EXPECT_EQ(a.node().counted(Refusal::star_ghost), 1U);
  EXPECT_THAT(b.node().bytes(kTarget), testing::Each(std::byte{0x5A}));
}

// The same packet with any other number is data, and placed. So it is the number that was known.
TEST_P(Copied, IsKnownByItsNumber) {
  transfer(0);
  wire::Headers other = rd();
  other.bth.psn = other.bth.psn.plus(7);
  for (std::byte& byte : b.node().bytes(kTarget)) byte = std::byte{0x5A};
  deliver(other, 0);
  EXPECT_EQ(b.node().counted(nic::Counter::duplicate_request), 0U);
  EXPECT_TRUE(same_bytes(a, {0, kTarget.length}, b, kTarget));
}

// Both ends begin anew at once, with the numbers that they had: what they send now is no copy of what they sent then.
TEST_P(Copied, IsNothingThatAConnectionSendsAfterAReset) {
  transfer(0);
  const std::uint64_t old_name = a.context().link->control.base;
  for (const Endpoint* end : {&a, &b}) ASSERT_EQ(end->go_to(nic::QpState::reset), host::Error::none);
  connect(a.node(), a.qp(), b.node(), b.qp(), {}, {});
  transfer(1000);
  EXPECT_NE(nic::incarnation_of(old_name), nic::incarnation_of(a.context().link->control.base));
  EXPECT_EQ(b.node().counted(nic::Counter::duplicate_request), 0U);
}

}  // namespace
}  // namespace weft::test
