// Queue pairs that end before they have done anything.
#include "srnic/scene.h"

namespace weft::test {
namespace {

using host::Error;

// Bug: what srnic keeps of packets that are out of order was set up at RTR, and given back in any case. A queue pair
// that had not been there gave back a list that it did not have, and the pool's own list became a circle.
TEST(SrnicLifetime, AQueuePairThatNeverReachedRtrGivesNothingBack) {
  Bed bed(srnic_bed());
  Node& node = bed.node(0);
  host::QueuePair& qp = node.create_qp({});
  ASSERT_EQ(qp.context().dialect, nic::Dialect::srnic);
  EXPECT_EQ(node.device().destroy(&qp), Error::none);
  EXPECT_EQ(node.device().card().reorder_notes.used(), 0U);
}

TEST(SrnicLifetime, NorDoesOneThatIsResetFirst) {
  Bed bed(srnic_bed());
  Node& node = bed.node(0);
  host::QueuePair& qp = node.create_qp({});
  EXPECT_EQ(qp.modify({.state = nic::QpState::reset}, host::QpMask::state), Error::none);
  EXPECT_EQ(node.device().destroy(&qp), Error::none);
  EXPECT_EQ(node.device().card().reorder_notes.used(), 0U);
}

// Those that were connected work as before, beside one that never was.
TEST(SrnicLifetime, OthersGoOn) {
  Bed bed(srnic_bed(dropping({2})));
  Node& node = bed.node(0);
  host::QueuePair& qp = node.create_qp({});
  auto [a, b] = bed.connect({.mtu = kMtu});
  EXPECT_EQ(node.device().destroy(&qp), Error::none);
  a.post({.id = 1, .kind = nic::WorkKind::write, .local = {{0, 6 * kMtu}}, .remote = 8192});
  ASSERT_TRUE(bed.run());
  EXPECT_TRUE(same_bytes(a, {0, 6 * kMtu}, b, {8192, 6 * kMtu}));
  expect_nothing_held(bed);
}

}  // namespace
}  // namespace weft::test
