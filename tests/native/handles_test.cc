// Handles: they own their object, give it back at the end of their scope, and say so when that is not possible.
#include "pair.h"

namespace weft::test {
namespace {

template <class H>
constexpr bool kMoveOnly = std::is_nothrow_move_constructible_v<H>&& std::is_nothrow_move_assignable_v<H>&&
                               std::is_default_constructible_v<H> &&
                           !std::is_copy_constructible_v<H> && !std::is_copy_assignable_v<H>;
static_assert(kMoveOnly<Device> && kMoveOnly<Domain> && kMoveOnly<Region> && kMoveOnly<Window>);
static_assert(kMoveOnly<CompletionQueue> && kMoveOnly<CompletionChannel> && kMoveOnly<SharedReceiveQueue>);
static_assert(kMoveOnly<QueuePair>);

// A small card has room for eight completion queues: who leaks one is found out soon.
TEST(Handles, DestroyTheirObjectAtTheEndOfTheirScope) {
  Simulation sim({.device = kSmall});
  Device device = sim.add_device();
  for (int i = 0; i < 1000; ++i) {
    Domain domain = must(device.create_domain());
    std::vector<std::byte> memory(64);
    Region region = must(domain.register_memory(memory));
    Window window = must(domain.create_window(WindowType::two));
    CompletionChannel channel = must(device.create_completion_channel());
    CompletionQueue cq = must(device.create_completion_queue(4, &channel));
    SharedReceiveQueue srq = must(domain.create_shared_receive_queue());
    QueuePair qp = must(domain.create_queue_pair({.send_cq = &cq, .srq = &srq}));
  }
  EXPECT_TRUE(device.close());
}

TEST(Handles, MoveTheirObject) {
  Pair p;
  const Endpoint endpoint = p.a.qp.endpoint();
  // Everything moves, and it all goes on working: objects refer to objects, not to handles.
  Device device = std::move(p.a.device);
  Domain domain = std::move(p.a.domain);
  Region region = std::move(p.a.region);
  std::vector<CompletionQueue> queues;
  queues.push_back(std::move(p.a.cq));
  QueuePair qp = std::move(p.a.qp);
  EXPECT_FALSE(p.a.qp);
  EXPECT_EQ(qp.qpn(), endpoint.qpn);
  EXPECT_EQ(qp.endpoint().psn, endpoint.psn);
  must(qp.post({.id = 3, .verb = Verb::write, .local = region.sge(0, 8), .remote = p.b.region.remote()}));
  Completion done;
  EXPECT_TRUE(p.sim.run_until([&] { return queues[0].poll(done); }));
  EXPECT_TRUE(done.ok());
}

TEST(Handles, AssigningDestroysWhatWasThere) {
  Simulation sim({.device = {.max_queue_pairs = 1, .max_completion_queues = 1}});
  Device device = sim.add_device();
  CompletionQueue cq = must(device.create_completion_queue(4));
  const CqNumber number = cq.number();
  EXPECT_EQ(error_of(device.create_completion_queue(4)), Error::table_full);
  cq = CompletionQueue();
  cq = must(device.create_completion_queue(8));
  EXPECT_EQ(cq.number(), number);
  EXPECT_EQ(cq.capacity(), 8U);
}

TEST(Handles, CloseRefusesWhatIsInUseAndChangesNothing) {
  Pair p;
  EXPECT_EQ(error_of(p.a.device.close()), Error::busy);
  EXPECT_EQ(error_of(p.a.domain.close()), Error::busy);
  EXPECT_EQ(error_of(p.a.cq.close()), Error::busy);
  EXPECT_TRUE(p.a.device && p.a.domain && p.a.cq);
  EXPECT_TRUE(p.carry_out({.verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()}).ok());

  CompletionChannel channel = must(p.a.device.create_completion_channel());
  CompletionQueue told = must(p.a.device.create_completion_queue(1, &channel));
  EXPECT_EQ(error_of(channel.close()), Error::busy);
  SharedReceiveQueue srq = must(p.a.domain.create_shared_receive_queue());
  QueuePair user = must(p.a.domain.create_queue_pair({.send_cq = &told, .srq = &srq}));
  EXPECT_EQ(error_of(srq.close()), Error::busy);
  EXPECT_TRUE(user.close() && srq.close() && told.close() && channel.close());
  EXPECT_EQ(error_of(user.close()), Error::closed);
}

TEST(Handles, EmptyOnesAnswerClosed) {
  Device device;
  Domain domain;
  Region region;
  CompletionQueue cq;
  SharedReceiveQueue srq;
  QueuePair qp;
  EXPECT_EQ(error_of(device.create_domain()), Error::closed);
  EXPECT_EQ(error_of(device.create_completion_queue(1)), Error::closed);
  EXPECT_EQ(error_of(device.create_completion_channel()), Error::closed);
  EXPECT_EQ(error_of(domain.register_memory({})), Error::closed);
  EXPECT_EQ(error_of(domain.create_window(WindowType::one)), Error::closed);
  EXPECT_EQ(error_of(domain.create_queue_pair({})), Error::closed);
  EXPECT_EQ(error_of(domain.create_shared_receive_queue()), Error::closed);
  EXPECT_EQ(error_of(domain.create_address_handle({})), Error::closed);
  EXPECT_EQ(error_of(region.reregister({})), Error::closed);
  EXPECT_EQ(error_of(cq.request_notify()), Error::closed);
  EXPECT_EQ(error_of(cq.moderate(1, {})), Error::closed);
  EXPECT_EQ(error_of(cq.resize(1)), Error::closed);
  EXPECT_EQ(error_of(srq.post_receive({})), Error::closed);
  EXPECT_EQ(error_of(srq.set_limit(1)), Error::closed);
  EXPECT_EQ(error_of(qp.post({})), Error::closed);
  EXPECT_EQ(error_of(qp.post_receive({})), Error::closed);
  EXPECT_EQ(error_of(qp.connect({})), Error::closed);
  EXPECT_EQ(error_of(qp.to_init({})), Error::closed);
  EXPECT_EQ(error_of(qp.to_ready_to_receive({})), Error::closed);
  EXPECT_EQ(error_of(qp.to_ready_to_send({})), Error::closed);
  EXPECT_EQ(error_of(qp.to_error()), Error::closed);
  EXPECT_EQ(error_of(qp.close()), Error::closed);
  EXPECT_EQ(error_of(connect(qp, qp)), Error::closed);
}

TEST(Handles, AWindowIsDestroyedUnderWhateverKeyItHas) {
  Pair p;
  Window window = must(p.a.domain.create_window(WindowType::one));
  const Key first = window.key();
  for (int i = 0; i < 300; ++i) {  // the variant comes round
    EXPECT_TRUE(
        p.carry_out({.verb = Verb::bind_window, .bind = window.onto(p.a.region, 0, 8, Access::remote_read)}).ok());
  }
  EXPECT_EQ(window.key(), first.with_variant(static_cast<std::uint8_t>(first.variant() + 300)));
  EXPECT_TRUE(window.close());
  EXPECT_TRUE(p.a.qp.close() && p.a.region.close());
}

// ---- what no destructor can answer for ------------------------------------------------------------------------------

using HandlesDeathTest = testing::Test;

TEST(HandlesDeathTest, ADomainThatGoesBeforeItsRegions) {
  EXPECT_DEATH(
      {
        Pair p;
        Domain domain = std::move(p.a.domain);
      },
      "a domain went out of scope .* object is still in use");
}

TEST(HandlesDeathTest, ADeviceThatGoesBeforeWhatItMade) {
  EXPECT_DEATH(
      {
        Pair p;
        p.a.device = Device();
      },
      "a device went out of scope .* object is still in use");
}

TEST(HandlesDeathTest, ASimulationThatGoesBeforeItsDevices) {
  EXPECT_DEATH(
      {
        Device device;
        Simulation sim;
        device = sim.add_device();
      },
      "a simulation went out of scope before the handles of its devices");
}

TEST(HandlesDeathTest, AnEmptyHandleThatIsAskedForSomething) {
  QueuePair qp;
  EXPECT_DEATH((void)qp.qpn(), "an empty handle was asked");
  CompletionQueue cq;
  EXPECT_DEATH((void)cq.poll(std::span<Completion>()), "an empty handle was asked");
}

TEST(HandlesDeathTest, MustSaysWhatAndWhere) {
  EXPECT_DEATH(must(Device().create_domain()), "handles_test.cc:[0-9]+: the handle is empty");
}

}  // namespace
}  // namespace weft::test
