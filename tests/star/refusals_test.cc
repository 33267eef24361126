// What either side refuses of packets that a peer could send at the wrong time, or with the wrong contents. Each test
// is named for a refusal.
#include <array>

#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

class StarRefusals : public testing::Test {
 protected:
  explicit StarRefusals(const BedSpec& spec = star_bed()) : bed(spec) {}

  void settle() { bed.world().run_until(bed.now() + microseconds(100)); }
  // From the stateless host to the stateful one.
  void send_up(wire::Opcode opcode, std::span<const std::byte> payload = {}) {
    wire::Headers h;
    h.bth.opcode = opcode;
    h.bth.destination = a.qp().qpn();
    h.bth.psn = wire::Psn(12345);
    inject(bed, {.source = b.node().host.address(), .destination = a.node().host.address()}, h, payload, 1);
    settle();
  }
  void send_posts(const wire::StarPosts& posts) {
    std::array<std::byte, wire::StarPosts::kBytes + wire::StarWork::kBytes> payload;
    wire::star_write(payload.data(), posts);
    wire::star_write(payload.data() + wire::StarPosts::kBytes, wire::StarWork{});
    send_up(wire::Opcode::star_wqep, payload);
  }
  // Completions for the stateless side's block, as its peer's card could send them.
  void send_completions(std::span<const std::byte> payload) {
    wire::Headers h;
    h.bth.opcode = wire::Opcode::star_cqep;
    h.bth.destination = a.qp().qpn();
    wire::StarView::set_guard(h, {a.context().link->control, 0});
    inject(bed, {.source = a.node().host.address(), .destination = b.node().host.address()}, h, payload);
    settle();
  }

  Bed bed;
  Connection both = bed.connect();
  Endpoint a = both.a, b = both.b;
};

TEST_F(StarRefusals, star_not_migrated) {
  send_posts({.count = 1, .first = 0});  // before anything else
  EXPECT_EQ(a.node().counted(Refusal::star_not_migrated), 1U);
}

TEST_F(StarRefusals, star_work_ahead) {
  settle();
  send_posts({.count = 1, .first = 5});
  EXPECT_EQ(a.node().counted(Refusal::star_work_ahead), 1U);
  EXPECT_EQ(a.context().link->works_posted, 0U);
}

TEST_F(StarRefusals, star_work_again) {
  b.receive(1, {{0, 64}});
  ASSERT_TRUE(bed.run());
  send_posts({.receives = true, .count = 1, .epoch = b.node().device().card().capabilities.epoch(), .first = 0});
  EXPECT_EQ(a.node().counted(Refusal::star_work_again), 1U);
  a.post({.id = 2, .local = {{0, 64}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(b.node()), ElementsAre(Status::success)) << "once";
}

TEST_F(StarRefusals, star_ghost) {
  settle();
  for (const wire::Opcode o : {wire::Opcode::star_rda, wire::Opcode::star_gda, wire::Opcode::star_ea_up}) send_up(o);
  EXPECT_EQ(a.node().counted(Refusal::star_ghost), 3U);
}

TEST_F(StarRefusals, star_bad_payload) {
  settle();
  send_up(wire::Opcode::star_wqep);
  EXPECT_EQ(a.node().counted(Refusal::star_bad_payload), 1U);
  constexpr std::array<std::byte, 5> kCutShort{};
  send_completions(kCutShort);
  EXPECT_EQ(b.node().counted(Refusal::star_bad_payload), 1U);
}

// A status or a reason that does not exist would name a counter that does not.
TEST_F(StarRefusals, CompletionsWithStatusesThatDoNotExistAreRefused) {
  b.post({.id = 1, .kind = WorkKind::send, .local = {{0, 64}}});
  settle();
  std::array<std::byte, wire::StarDone::kBytes> payload;
  for (const wire::StarDone& d :
       {wire::StarDone{.status = 0xFF}, wire::StarDone{.status = 9, .reason = Refusal{0xFF}}}) {
    wire::star_write(payload.data(), d);
    send_completions(payload);
  }
  EXPECT_EQ(b.node().counted(Refusal::star_bad_payload), 2U);
  EXPECT_EQ(b.qp().state(), nic::QpState::rts);
}

// A READ with inline data would put it into a receive that nobody has taken.
TEST_F(StarRefusals, WorkThatReadsCarriesNoData) {
  a.receive(1, {{0, 64}});
  settle();
  const std::vector<std::byte> before(a.node().arena.bytes.begin(), a.node().arena.bytes.end());
  std::array<std::byte, wire::StarPosts::kBytes + wire::StarWork::kBytes + 64> payload{};
  wire::star_write(payload.data(), wire::StarPosts{.count = 1});
  wire::star_write(payload.data() + wire::StarPosts::kBytes,
                   wire::StarWork{.kind = static_cast<std::uint8_t>(WorkKind::read),
                                  .flags = nic::WorkFlags::inline_data,
                                  .length = 64,
                                  .key = a.node().arena.key,
                                  .address = a.node().arena.address});
  send_up(wire::Opcode::star_wqep, payload);
  EXPECT_EQ(a.node().counted(Refusal::star_bad_payload), 1U);
  EXPECT_TRUE(std::ranges::equal(a.node().arena.bytes, before));
}

// No capability can be asked for key 0, which is nobody's: the work fails, and does not wait for ever.
TEST_F(StarRefusals, KeyZeroIsNobodys) {
  Node& client = a.node();
  const nic::Sge from = client.arena.sge(0, 64);
  ASSERT_EQ(client.host.post(a.qp(), {.id = 1, .kind = WorkKind::write, .sges = {&from, 1}}), host::Error::none);
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(client), ElementsAre(Status::remote_access));
}

// A completion of work that was never posted, or has ended, completes nothing.
TEST_F(StarRefusals, CompletionsOfNothingChangeNothing) {
  settle();
  std::array<std::byte, wire::StarDone::kBytes> payload;
  for (const wire::StarDone::Queue queue : {wire::StarDone::Queue::send, wire::StarDone::Queue::receive}) {
    wire::star_write(payload.data(), wire::StarDone{.queue = queue, .number = 0});
    send_completions(payload);
  }
  EXPECT_THAT(statuses(b.node()), testing::IsEmpty());
  EXPECT_EQ(b.qp().state(), nic::QpState::rts);
}

TEST_F(StarRefusals, star_no_such_block) {
  b.receive(1, {{0, 64}});
  ASSERT_TRUE(bed.run());
  ASSERT_EQ(b.node().device().destroy(&b.qp()), host::Error::none);
  a.post({.id = 2, .local = {{0, 64}}});
  ASSERT_TRUE(bed.run());
  EXPECT_EQ(b.node().counted(Refusal::star_no_such_block), 1U);
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::retry_exceeded));
}

TEST_F(StarRefusals, star_peer_gone) {
  settle();
  ASSERT_EQ(b.go_to(nic::QpState::error), host::Error::none);
  ASSERT_TRUE(bed.run());
  a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 64}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::retry_exceeded));
  EXPECT_EQ(a.node().counted(Refusal::star_peer_gone), 1U);
}

class SmallQueue : public StarRefusals {
 protected:
  static BedSpec spec() {
    BedSpec s = star_bed();
    s.cq_entries = 1;
    return s;
  }
  SmallQueue() : StarRefusals(spec()) {}
};

// A full completion queue of the stateless side holds its peer up, and loses nothing.
TEST_F(SmallQueue, star_cq_full) {
  for (std::uint64_t id : {1, 2, 3}) b.receive(id, {{64 * id, 64}});
  for (std::uint64_t id : {1, 2, 3}) a.post({.id = id, .local = {{64 * id, 64}}, .signaled = false});
  std::vector<std::uint64_t> got;
  for (int i = 0; i < 400 && got.size() < 3; ++i) {
    settle();
    for (const nic::Completion& c : drain(b.node())) got.push_back(c.id);
  }
  EXPECT_THAT(got, ElementsAre(1, 2, 3));
  EXPECT_GT(b.node().counted(Refusal::star_cq_full), 0U);
}

}  // namespace
}  // namespace weft::test
