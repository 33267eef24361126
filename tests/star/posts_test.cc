// What the stateless side has posted reaches the stateful one, whatever is lost on its way.
#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::Each;
using testing::SizeIs;

// More receives than the stateful side keeps: the card itself tells of the others when some are done, long after the
// host's timer has had nothing to see to any more.
class ManyReceives {
 public:
  static constexpr std::uint32_t kCount = nic::StarLink::kRemote + 8;

  explicit ManyReceives(std::uint64_t lost) : bed_(with_loss(lost)) {}

  void run() {
    const QpSpec many{.limits = {.send_entries = 128, .receive_entries = 128}};
    auto [a, b] = bed_.connect(many);
    for (std::uint32_t i = 0; i < kCount; ++i) b.receive(i, {{64 * i, 64}});
    ASSERT_TRUE(bed_.run());
    for (std::uint32_t i = 0; i < kCount; ++i) a.post({.id = i, .kind = WorkKind::send, .local = {{64 * i, 64}}});
    ASSERT_TRUE(bed_.run());
    for (const Node* node : {&a.node(), &b.node()}) {
      const std::vector<Status> done = statuses(*node);
      EXPECT_THAT(done, SizeIs(kCount));
      EXPECT_THAT(done, Each(Status::success));
    }
  }
  [[nodiscard]] std::uint64_t packets() { return bed_.world().fault_counters().offered; }

 private:
  static BedSpec with_loss(std::uint64_t lost) {
    BedSpec spec = star_bed();
    spec.link.faults.count_world = true;  // lost is counted over both directions
    spec.link.faults.script.push_back({sim::Fault::drop, lost});
    return spec;
  }
  Bed bed_;
};

TEST(StarPosts, ThatTheCardTellsOfByItselfAreToldAgain) {
  ManyReceives clean(kNever);
  clean.run();
  ASSERT_GT(clean.packets(), 100U);
  for (std::uint64_t lost = 1; lost <= clean.packets(); ++lost) {
    SCOPED_TRACE(testing::Message() << "packet " << lost << " lost");
    ManyReceives(lost).run();
    if (testing::Test::HasFailure()) return;
  }
}

// The second SEND has waited long enough for a receive while the first is still on its way.
TEST(StarPosts, WorkThatFindsNoReceiveFailsAfterTheWorkBeforeIt) {
  BedSpec spec = star_bed();
  spec.link.bits_per_second = 1'000'000'000;
  Bed bed(spec);
  QpSpec impatient;
  impatient.rnr_retry = 1;
  impatient.min_rnr_timer = 1;
  auto [a, b] = bed.connect(impatient);
  a.receive(1, {{0, 32768}});
  b.post({.id = 1, .kind = WorkKind::send, .local = {{0, 32768}}});
  b.post({.id = 2, .kind = WorkKind::send, .local = {{0, 64}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(b.node()), testing::ElementsAre(Status::success, Status::rnr_retry_exceeded));
}

// Work of the stateful side that waits for a receive, after some that found one.
class WaitsForReceive : public testing::Test {
 protected:
  static constexpr Time kEnds = seconds(1), kLong = seconds(2);

  static BedSpec that_falls_silent(bool falls_silent) {
    BedSpec spec = star_bed();
    if (falls_silent) spec.link.faults.holes = {{.from = kEnds}};
    return spec;
  }
  explicit WaitsForReceive(bool falls_silent = false) : bed_(that_falls_silent(falls_silent)) {
    b_.receive(1, {{0, 64}});
    a_.post({.id = 1, .kind = WorkKind::send, .local = {{0, 64}}});
    EXPECT_TRUE(bed_.run());
    EXPECT_THAT(statuses(a_.node()), testing::ElementsAre(Status::success));
    a_.post({.id = 2, .kind = WorkKind::send, .local = {{0, 64}}});
  }

  Bed bed_;
  Connection both_ = bed_.connect();
  Endpoint &a_ = both_.a, &b_ = both_.b;
};
class WaitsForReceiveInSilence : public WaitsForReceive {
 protected:
  WaitsForReceiveInSilence() : WaitsForReceive(true) {}
};

TEST_F(WaitsForReceive, AsLongAsThereIsSomebodyToPostOne) {
  (void)bed_.run(kLong);
  EXPECT_THAT(statuses(a_.node()), testing::IsEmpty());
  b_.receive(2, {{0, 64}});
  EXPECT_TRUE(bed_.run());
  EXPECT_THAT(statuses(a_.node()), testing::ElementsAre(Status::success));
}

// Bug: it waited for ever for a program that had ended.
TEST_F(WaitsForReceiveInSilence, UntilThePeerIsGivenUp) {
  (void)bed_.run(kEnds);
  EXPECT_THAT(statuses(a_.node()), testing::IsEmpty());
  (void)bed_.run(kLong);
  EXPECT_THAT(statuses(a_.node()), testing::ElementsAre(Status::retry_exceeded));
}

TEST_F(WaitsForReceive, UntilThePeersQueuePairIsDestroyed) {
  (void)bed_.run(kEnds);
  ASSERT_EQ(b_.node().device().destroy(&b_.qp()), host::Error::none);
  (void)bed_.run(kLong);
  EXPECT_THAT(statuses(a_.node()), testing::ElementsAre(Status::retry_exceeded));
}

}  // namespace
}  // namespace weft::test
