// The control queue between card and software loses events: nothing that was told once may be needed.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

void expect_recovers(Bed& bed) {
  auto [a, b] = bed.connect({.mtu = kMtu});
  b.receive(7, {{32'768, 4 * kMtu}});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 6 * kMtu}}, .remote = 8192});
  a.post({.id = 2, .kind = WorkKind::send, .local = {{4096, 3 * kMtu}}});
  a.post({.id = 3, .kind = WorkKind::read, .local = {{16'384, 6 * kMtu}}, .remote = 16'384});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success), IdAndStatus(2, Status::success),
                                                    IdAndStatus(3, Status::success)));
  EXPECT_THAT(results(drain(b.node())), ElementsAre(IdAndStatus(7, Status::success)));
  EXPECT_TRUE(same_bytes(a, {0, 6 * kMtu}, b, {8192, 6 * kMtu}));
  EXPECT_TRUE(same_bytes(a, {4096, 3 * kMtu}, b, {32'768, 3 * kMtu}));
  EXPECT_TRUE(same_bytes(a, {16'384, 6 * kMtu}, b, {16'384, 6 * kMtu}));
  for (Node& node : bed.nodes()) EXPECT_EQ(node.device().card().reorder_notes.used(), 0U);
}

TEST(ControlQueue, AnySingleEventMayBeLost) {
  for (const bool bitmaps : {true, false}) {
    for (const std::size_t host : {0U, 1U}) {
      for (const std::uint64_t packet : {1U, 3U, 8U, 9U, 14U}) {
        for (std::uint64_t event = 1; event <= 12; ++event) {
          SCOPED_TRACE(testing::Message() << "host " << host << ", packet " << packet << ", event " << event);
          BedSpec spec = srnic_bed(dropping({packet}));
          spec.card.requester_bitmaps = bitmaps;
          Bed bed(spec);
          bed.node(host).host.lose_control_events(event, 1);
          expect_recovers(bed);
        }
      }
    }
  }
}

TEST(ControlQueue, ManyEventsMayBeLost) {
  for (const bool bitmaps : {true, false}) {
    for (const std::size_t host : {0U, 1U}) {
      for (const std::uint64_t count : {3U, 5U, 8U}) {
        SCOPED_TRACE(testing::Message() << "host " << host << ", " << count << " events");
        BedSpec spec = srnic_bed(dropping({1, 4, 9, 14}));
        spec.card.requester_bitmaps = bitmaps;
        Bed bed(spec);
        bed.node(host).host.lose_control_events(1, count);
        expect_recovers(bed);
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
