// Memory windows: opened by work on a queue pair, used by its peer, closed by whoever may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/bed.h"
#include "support/completions.h"

namespace weft::test {
namespace {

using nic::Rights;
using nic::Status;
using nic::WorkKind;
using testing::ElementsAre;

constexpr std::uint64_t kBase = 8192;  // of the window, in the owner's arena
constexpr std::uint32_t kLength = 1024;

// `b` owns a window onto part of its arena, `a` works through it.
class Windows : public testing::TestWithParam<int> {
 protected:
  [[nodiscard]] wire::Key create() { return *b.node().device().create_window(b.node().domain, type()); }
  [[nodiscard]] int type() const { return GetParam(); }

  Status bind(wire::Key window, wire::Key new_key, std::uint64_t offset = kBase, std::uint64_t length = kLength,
              Rights rights = nic::kRemoteRights) {
    const sim::Memory& arena = b.node().arena;
    b.post({.kind = WorkKind::bind_window,
            .binding = {window, arena.key, arena.address + offset, length, rights, new_key}});
    return result(b);
  }
  Status invalidate(wire::Key window) {
    b.post({.kind = WorkKind::local_invalidate, .invalidate = window});
    return result(b);
  }
  // The peer writes through the window; what became of that.
  Status write(wire::Key key, std::uint64_t offset = kBase, std::uint32_t bytes = 64) {
    a.post({.kind = WorkKind::write, .local = {{0, bytes}}, .remote = offset, .remote_key = key});
    return result(a);
  }
  Status result(const Endpoint& at) {
    EXPECT_TRUE(bed.run());
    const auto log = drain(at.node());
    EXPECT_EQ(log.size(), 1U);
    return log.empty() ? Status::fatal : log[0].status;
  }
  static wire::Key next(wire::Key key) { return wire::Key((key.raw() & ~0xFFU) | ((key.raw() + 1) & 0xFF)); }

  Bed bed;
  Connection connection = bed.connect();
  const Endpoint& a = connection.a;
  const Endpoint& b = connection.b;
};

TEST_P(Windows, LetThePeerInOnceBound) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, next(window)), Status::success);
  EXPECT_EQ(write(next(window)), Status::success);
  EXPECT_TRUE(std::ranges::equal(b.node().bytes({kBase, 64}), a.node().bytes({0, 64})));
  a.post({.kind = WorkKind::read, .local = {{4096, 64}}, .remote = kBase, .remote_key = next(window)});
  EXPECT_EQ(result(a), Status::success);
}

TEST_P(Windows, AreShutBeforeTheyAreBound) { EXPECT_EQ(write(create()), Status::remote_access); }

TEST_P(Windows, HaveEdges) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  EXPECT_EQ(write(window, kBase + kLength - 64), Status::success);
  EXPECT_EQ(write(window, kBase + kLength - 63), Status::remote_access);
}

TEST_P(Windows, GrantNoMoreThanTheyWereBoundWith) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window, kBase, kLength, Rights::remote_read), Status::success);
  EXPECT_EQ(write(window), Status::remote_access);
}

TEST_P(Windows, CannotReachBeyondTheirRegion) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window, 63 * 1024, 2048), Status::window_bind);
  EXPECT_EQ(b.qp().state(), nic::QpState::error);
}

TEST_P(Windows, MayCountFromZero) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window, kBase, kLength, nic::kRemoteRights | Rights::zero_based), Status::success);
  const std::uint64_t zero = 0 - b.node().arena.address;  // what a step adds to its offset
  EXPECT_EQ(write(window, zero + 100), Status::success);
  EXPECT_TRUE(std::ranges::equal(b.node().bytes({kBase + 100, 64}), a.node().bytes({0, 64})));
}

TEST_P(Windows, ChangeTheirKeyWhenBoundAgain) {
  const wire::Key first = create(), second = next(first);
  EXPECT_EQ(bind(first, first), Status::success);
  if (type() == 2) {
    EXPECT_EQ(invalidate(first), Status::success);
  }
  EXPECT_EQ(bind(first, second, kBase + 4096), Status::success);
  EXPECT_EQ(write(second, kBase + 4096), Status::success);
  EXPECT_EQ(write(first, kBase + 4096), Status::remote_access);  // of the time before
  EXPECT_EQ(b.node().counted(Refusal::key_stale), 1U);
}

TEST_P(Windows, OfARegionKeepItAlive) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  EXPECT_EQ(b.node().device().deregister_region(b.node().arena.key), host::Error::busy);
  EXPECT_EQ(b.node().device().destroy_window(window), host::Error::none);
  EXPECT_EQ(b.node().device().deregister_region(b.node().arena.key), host::Error::none);
}

TEST_P(Windows, DestroyedAreShut) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  EXPECT_EQ(b.node().device().destroy_window(window), host::Error::none);
  EXPECT_EQ(write(window), Status::remote_access);
}

// The peer may use a window whose key came in a SEND that was posted after the bind.
TEST_P(Windows, AreOpenWhenLaterWorkIsSent) {
  const wire::Key window = create();
  const sim::Memory& arena = b.node().arena;
  a.receive(1, {{0, 64}});
  b.post({.id = 1,
          .kind = WorkKind::bind_window,
          .signaled = false,
          .binding = {window, arena.key, arena.address + kBase, kLength, nic::kRemoteRights, window}});
  b.post({.id = 2, .kind = WorkKind::send, .local = {{0, 64}}});
  while (a.node().cq->waiting() == 0) bed.world().run_until_idle(kNever, 1);
  drain(a.node());
  a.post({.kind = WorkKind::write, .local = {{0, 64}}, .remote = kBase, .remote_key = window});
  EXPECT_EQ(result(a), Status::success);
  EXPECT_THAT(ids(drain(b.node())), ElementsAre(2));
}

INSTANTIATE_TEST_SUITE_P(OfEitherType, Windows, testing::Values(1, 2));

class WindowsOfType1 : public Windows {};
TEST_P(WindowsOfType1, AreClosedByBindingNothing) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  EXPECT_EQ(bind(window, next(window), kBase, 0), Status::success);
  EXPECT_EQ(write(next(window)), Status::remote_access);
  EXPECT_EQ(b.node().counted(Refusal::window_unbound), 1U);
}

TEST_P(WindowsOfType1, CannotBeInvalidated) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  EXPECT_EQ(invalidate(window), Status::window_bind);
}

TEST_P(WindowsOfType1, ServeEveryQueuePairOfTheDomain) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  auto [other, unused] = bed.connect();
  other.post({.kind = WorkKind::write, .local = {{0, 64}}, .remote = kBase, .remote_key = window});
  EXPECT_EQ(result(other), Status::success);
}
INSTANTIATE_TEST_SUITE_P(ByOwner, WindowsOfType1, testing::Values(1));

class WindowsOfType2 : public Windows {};
TEST_P(WindowsOfType2, MustBeInvalidatedBeforeTheyAreBoundAgain) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  EXPECT_EQ(bind(window, next(window)), Status::window_bind);
}

TEST_P(WindowsOfType2, AreClosedByLocalInvalidate) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  EXPECT_EQ(invalidate(window), Status::success);
  EXPECT_EQ(write(window), Status::remote_access);
}

TEST_P(WindowsOfType2, AreClosedByThePeersSend) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  b.receive(5, {{0, 64}});
  a.post({.kind = WorkKind::send_invalidate, .local = {{0, 64}}, .invalidate = window});
  EXPECT_EQ(result(a), Status::success);
  const auto log = drain(b.node());
  ASSERT_THAT(ids(log), ElementsAre(5));
  EXPECT_TRUE(log[0].has_invalidated);
  EXPECT_EQ(log[0].immediate, window.raw());
  EXPECT_EQ(write(window), Status::remote_access);
}

TEST_P(WindowsOfType2, BelongToOneQueuePair) {
  const wire::Key window = create();
  EXPECT_EQ(bind(window, window), Status::success);
  auto [other, at] = bed.connect();
  other.post({.kind = WorkKind::write, .local = {{0, 64}}, .remote = kBase, .remote_key = window});
  EXPECT_EQ(result(other), Status::remote_access);
  EXPECT_EQ(b.node().counted(Refusal::key_wrong_qp), 1U);
  EXPECT_EQ(write(window), Status::success) << "the owner's peer is not concerned";
}

// Local work between messages is done once, also when the messages around it are sent again.
TEST_P(WindowsOfType2, AreBoundOnceWhenSendingStartsAnew) {
  BedSpec spec;
  spec.link.faults = {.count_world = true, .script = {{sim::Fault::drop, 1}}};
  Bed lossy(spec);
  auto [p, q] = lossy.connect();
  const wire::Key window = *p.node().device().create_window(p.node().domain, 2);
  const sim::Memory& arena = p.node().arena;
  const nic::WindowBinding binding{window, arena.key, arena.address, 64, Rights::remote_read, window};
  p.post({.id = 1, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64});
  p.post({.id = 2, .kind = WorkKind::bind_window, .binding = binding});
  p.post({.id = 3, .kind = WorkKind::local_invalidate, .invalidate = window});
  p.post({.id = 4, .kind = WorkKind::write, .local = {{0, 64}}, .remote = 64});
  ASSERT_TRUE(lossy.run());
  const auto success = [](std::uint64_t id) { return IdAndStatus(id, Status::success); };
  EXPECT_THAT(results(drain(p.node())), ElementsAre(success(1), success(2), success(3), success(4)));
}
INSTANTIATE_TEST_SUITE_P(ByOwner, WindowsOfType2, testing::Values(2));

}  // namespace
}  // namespace weft::test
