// The stateful card reckons with the stateless card's clock, which says until when a packet is good. Of two machines
// the clocks run apart while a connection is idle, and one may have stood still.
#include "star/scene.h"

namespace weft::test {
namespace {

using nic::Status;
using nic::WorkKind;
using testing::Each;
using testing::SizeIs;

class StarClocks : public testing::TestWithParam<std::int32_t> {};

TEST_P(StarClocks, ThatRanApartAreSetByTheAnswerToALatePacket) {
  Bed bed{star_bed()};
  auto [a, b] = bed.connect();
  b.receive(1, {{0, 4096}});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 4096});
  ASSERT_TRUE(bed.run());
  const std::uint64_t late = b.node().counted(Refusal::star_expired);
  a.context().link->clock += static_cast<std::uint32_t>(GetParam());
  a.post({.id = 2, .kind = WorkKind::write, .local = {{100, 9000}}, .remote = 4196});
  a.post({.id = 3, .kind = WorkKind::send, .local = {{0, 4096}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), testing::AllOf(SizeIs(3), Each(Status::success)));
  EXPECT_TRUE(same_bytes(a, {100, 9000}, b, {4196, 9000}));
  EXPECT_EQ(b.node().counted(Refusal::star_expired) > late, GetParam() < 0);
}

constexpr std::int32_t kSecond = 1'000'000;
INSTANTIATE_TEST_SUITE_P(By, StarClocks, testing::Values(-1800 * kSecond, -kSecond, kSecond, 1800 * kSecond));

// Bug: the stateless card said of each packet that it came too late, and was given up as one that says nothing: a
// packet lived no longer than two local ACK timeouts, however long its way was.
TEST(StarLongWay, WhoSaysThatPacketsComeTooLateIsNotSilent) {
  BedSpec spec = star_bed();
  spec.link.delay = milliseconds(3);
  Bed bed(spec);
  auto [a, b] = bed.connect();  // with a local ACK timeout of 1.05 ms, eight times
  a.post({.id = 1, .kind = nic::WorkKind::write, .local = {{0, 4096}}});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), testing::ElementsAre(nic::Status::success));
  EXPECT_GT(b.node().counted(Refusal::star_expired), 0U);
}

}  // namespace
}  // namespace weft::test
