// A server accepts connections, and its card keeps nothing for any of them.
#include <cstring>

#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::Each;
using testing::SizeIs;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

// What a card keeps for connections: contexts, and whatever schedules and times them.
struct OnCard {
  std::vector<std::byte> contexts;
  std::size_t ready, owing;
  Time next_timer;
  friend bool operator==(const OnCard&, const OnCard&) = default;
};
OnCard on_card(nic::CardState& card) {
  return {copy_of(card.contexts.bytes()), card.ready.size(), card.owing.size(), card.timers.next()};
}

class NoState : public testing::TestWithParam<std::uint32_t> {};

TEST_P(NoState, IsLeftOnTheCardByConnectionsMadeAndUsed) {
  const std::uint32_t count = GetParam();
  BedSpec spec = star_bed();
  spec.hosts = 5;  // four clients
  spec.first_is_stateless = true;
  spec.card.max_qps = 512;
  spec.cq_entries = 4096;
  spec.arena_bytes = 1 << 20;
  spec.stateless = count;
  Bed bed(spec);
  Node& server = bed.node(0);
  const OnCard before = on_card(server.device().card());

  std::vector<Connection> all;
  const QpSpec qp{.limits = {.send_entries = 4, .receive_entries = 4, .send_sges = 1, .receive_sges = 1}};
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(bed.connect(server, qp, bed.node(1 + i % 4), qp));
  for (std::uint32_t i = 0; i < count; ++i) {
    all[i].a.receive(i, {{64 * i, 64}});
    all[i].b.post({.id = i, .kind = WorkKind::send, .local = {{64 * i, 64}}, .signaled = false});
    all[i].a.post({.id = i, .kind = WorkKind::read, .local = {{(1 << 19) + 64 * i, 64}}, .remote = 64 * i});
  }
  ASSERT_TRUE(bed.run());
  const std::vector<Status> done = statuses(server);
  EXPECT_THAT(done, SizeIs(2 * count));
  EXPECT_THAT(done, Each(Status::success));
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_TRUE(same_bytes(all[i].b, {64 * i, 64}, all[i].a, {64 * i, 64})) << i;
    EXPECT_TRUE(same_bytes(all[i].b, {64 * i, 64}, all[i].a, {(1 << 19) + 64 * i, 64})) << i;
  }
  EXPECT_TRUE(on_card(server.device().card()) == before) << "not a byte, and no slot";
}

INSTANTIATE_TEST_SUITE_P(Star, NoState, testing::Values(1, 100, 1500));

}  // namespace
}  // namespace weft::test
