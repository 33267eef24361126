// Packets that were sent twice because the stateless host stood still, and not because anything was lost.
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

}  // namespace
}  // namespace weft::test
