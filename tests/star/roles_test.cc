// Which queue pairs may play which part, and what a card without state cannot do.
#include "star/scene.h"

namespace weft::test {
namespace {

using host::Error;
using nic::Status;
using nic::WorkKind;
using testing::Each;
using testing::ElementsAre;

TEST(StatelessSide, RefusesASharedReceiveQueueByName) {
  Bed bed(star_bed());
  Node& server = bed.node(1);
  host::SharedReceiveQueue* srq = *server.device().create_srq(server.domain, 16, 1);
  const auto made = server.device().create_qp(
      server.domain, {.send_cq = server.cq, .receive_cq = server.cq, .srq = srq, .role = host::StarRole::stateless});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error(), Error::not_supported);
  EXPECT_EQ(server.device().destroy(srq), Error::none) << "a refused call has taken nothing";
}

TEST(StatelessSide, RefusesToDrainItsSendQueue) {
  Bed bed(star_bed());
  auto [a, b] = bed.connect();
  EXPECT_EQ(b.go_to(nic::QpState::sqd), Error::not_supported);
  EXPECT_EQ(b.qp().state(), nic::QpState::rts);
}

TEST(StatelessSide, RefusesEntriesThatDoNotFitIntoAPacket) {
  Bed bed(star_bed());
  Node& server = bed.node(1);
  for (const host::QpLimits limits : {host::QpLimits{.send_sges = nic::RemoteWork::kMaxSges + 1},
                                      host::QpLimits{.receive_sges = nic::RemoteWork::kMaxSges + 1},
                                      host::QpLimits{.inline_bytes = nic::RemoteWork::kMaxInline + 1}}) {
    const auto made = server.device().create_qp(
        server.domain,
        {.limits = limits, .send_cq = server.cq, .receive_cq = server.cq, .role = host::StarRole::stateless});
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error(), Error::limit_exceeded);
  }
}

TEST(StatelessSide, TakesOnlyReliableConnections) {
  Bed bed(star_bed());
  Node& server = bed.node(1);
  const auto made = server.device().create_qp(
      server.domain,
      {.service = wire::Service::ud, .send_cq = server.cq, .receive_cq = server.cq, .role = host::StarRole::stateless});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error(), Error::not_supported);
}

// All three kinds on one card, and both parts of StaR.
TEST(Roles, LiveOnOneCardAtOnce) {
  BedSpec spec = star_bed();
  spec.dialect = nic::Dialect::roce;
  Bed bed(spec);
  Node &x = bed.node(0), &y = bed.node(1);
  const auto make = [](Node& n, host::StarRole role) -> host::QueuePair& {
    const host::QpOptions options{
        .limits = {.send_entries = 64, .receive_entries = 64}, .send_cq = n.cq, .receive_cq = n.cq, .role = role};
    return **n.device().create_qp(n.domain, options);
  };
  using host::StarRole;
  std::vector<Connection> all;
  for (const auto& [left, right] :
       {std::pair(StarRole::none, StarRole::none), std::pair(StarRole::stateful, StarRole::stateless),
        std::pair(StarRole::stateless, StarRole::stateful)}) {
    all.push_back(connect(x, make(x, left), y, make(y, right), {}, {}));
  }
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    all[i].b.receive(10 + i, {{8192 + 1024 * i, 512}});
    all[i].a.post({.id = i, .kind = WorkKind::send, .local = {{1024 * i, 512}}});
  }
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(x), ElementsAre(Status::success, Status::success, Status::success));
  EXPECT_THAT(statuses(y), ElementsAre(Status::success, Status::success, Status::success));
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(same_bytes(all[i].a, {1024 * i, 512}, all[i].b, {8192 + 1024 * i, 512})) << i;
  }
}

// The stateful side's program asks for what the key does not allow: both sides hear of it.
TEST(Roles, AWrongKeyBreaksBothSidesWithTheRightStatus) {
  Bed bed(star_bed());
  auto [a, b] = bed.connect();
  b.receive(7, {{0, 100}});
  a.post({.id = 1, .kind = WorkKind::write, .local = {{0, 100}}, .remote = 0, .remote_key = wire::Key(0xBAD)});
  ASSERT_TRUE(bed.run());
  EXPECT_THAT(statuses(a.node()), ElementsAre(Status::remote_access));
  EXPECT_THAT(statuses(b.node()), ElementsAre(Status::flushed));
  EXPECT_EQ(b.qp().state(), nic::QpState::error);
  EXPECT_THAT(drain_events(b.node()),
              ElementsAre(testing::Field(&nic::HostEvent::kind, nic::EventKind::qp_access_error)));
}

}  // namespace
}  // namespace weft::test
