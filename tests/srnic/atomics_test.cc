// READs and atomics: carried out once and in order, answered until the answer has arrived.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using nic::Counter;
using nic::Status;
using nic::WorkKind;
using sim::Fault;
using testing::ElementsAre;

// Any single packet lost, duplicated or late: requests, responses, and both kinds of ACKs.
TEST(SrnicAtomic, IsCarriedOutOnceWhateverHappensToAPacket) {
  for (const bool bitmaps : {true, false}) {
    for (const Fault fault : {Fault::drop, Fault::duplicate, Fault::delay}) {
      for (std::uint64_t nth = 1; nth <= 20; ++nth) {
        sim::FaultPlan plan;
        plan.script = {{fault, nth}};
        BedSpec spec = srnic_bed(plan);
        spec.card.requester_bitmaps = bitmaps;
        Bed bed(spec);
        auto [a, b] = bed.connect();
        const std::uint64_t before = b.node().word(64);
        for (std::uint64_t id = 0; id < 5; ++id) {
          a.post({.id = id, .kind = WorkKind::fetch_add, .local = {{id * 8, 8}}, .remote = 64, .compare_add = 1});
        }
        ASSERT_TRUE(bed.run(seconds(10)));
        EXPECT_THAT(ids(drain(a.node())), ElementsAre(0, 1, 2, 3, 4));
        EXPECT_EQ(b.node().word(64), before + 5) << "packet " << nth;
        for (std::uint64_t id = 0; id < 5; ++id) EXPECT_EQ(a.node().word(id * 8), before + id) << "packet " << nth;
        expect_nothing_held(bed);
      }
    }
  }
}

TEST(SrnicAtomic, IsAnsweredFromWhatWasSaved) {
  for (const std::uint64_t lost : {2U, 3U}) {  // the ACK for the request, or the answer
    Bed bed(srnic_bed(dropping({lost})));
    auto [a, b] = bed.connect();
    const std::uint64_t before = b.node().word(64);
    a.post({.id = 1, .kind = WorkKind::fetch_add, .local = {{0, 8}}, .remote = 64, .compare_add = 5});
    bed.world().run_until(microseconds(10));
    EXPECT_EQ(b.node().word(64), before + 5);
    b.node().word(64) = 1;  // whatever happens to the word meanwhile, the answer is the one of then
    ASSERT_TRUE(bed.run());
    EXPECT_EQ(a.node().word(0), before);
    EXPECT_EQ(b.node().word(64), 1U);
    expect_nothing_held(bed);
  }
}

TEST(SrnicRead, OfEightPacketsSurvivesAnyTwoThatAreLost) {
  for (std::uint64_t first = 1; first <= 10; ++first) {
    for (std::uint64_t second = first; second <= 14; ++second) {
      Bed bed(srnic_bed(dropping({first, second})));
      auto [a, b] = bed.connect({.mtu = kMtu});
      a.post({.id = 1, .kind = WorkKind::read, .local = {{0, 8 * kMtu}}, .remote = 8192});
      ASSERT_TRUE(bed.run());
      EXPECT_THAT(results(drain(a.node())), ElementsAre(IdAndStatus(1, Status::success)));
      EXPECT_TRUE(same_bytes(a, {0, 8 * kMtu}, b, {8192, 8 * kMtu})) << first << ", " << second;
      expect_nothing_held(bed);
    }
  }
}

TEST(SrnicRead, IsAnsweredInAnyOrderAndTwice) {
  for (const auto& [reordering, duplication] : {std::pair{0.5, 0.0}, {0.0, 0.5}, {0.3, 0.3}}) {
    sim::FaultPlan plan{.duplication = duplication, .reordering = reordering};
    Bed bed(srnic_bed(plan));
    auto [a, b] = bed.connect({.mtu = kMtu});
    for (std::uint64_t id = 0; id < 8; ++id) {
      a.post({.id = id, .kind = WorkKind::read, .local = {{id * 4096, 4000}}, .remote = 32'768 + id * 1000});
    }
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(ids(drain(a.node())), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    for (std::uint64_t id = 0; id < 8; ++id) {
      EXPECT_TRUE(same_bytes(a, {id * 4096, 4000}, b, {32'768 + id * 1000, 4000})) << id;
    }
    expect_nothing_held(bed);
  }
}

// The refusal of what was posted after a READ waits until the READ has been answered.
TEST(SrnicRead, WhoseAnswerIsLostIsNotBlamedForTheRefusalOfTheNext) {
  for (std::uint64_t lost = 3; lost <= 5; ++lost) {
    Bed bed(srnic_bed(dropping({lost})));
    auto [a, b] = bed.connect({.retry_count = 1});
    a.post({.id = 1, .kind = WorkKind::read, .local = {{0, 64}}, .remote = 8});
    a.post({.id = 2, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 1 << 30});  // nowhere
    ASSERT_TRUE(bed.run());
    EXPECT_THAT(results(drain(a.node())),
                ElementsAre(IdAndStatus(1, Status::success),
                            testing::Pair(2, testing::AnyOf(Status::remote_access, Status::retry_exceeded))));
    EXPECT_TRUE(same_bytes(a, {0, 64}, b, {8, 64}));
  }
}

}  // namespace
}  // namespace weft::test
