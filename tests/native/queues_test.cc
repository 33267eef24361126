// Completion queues, channels, shared receive queues, regions and events through the public interface.
#include "pair.h"

namespace weft::test {
namespace {

WorkRequest write_of(Pair& p, std::uint64_t id = 0) {
  return {.id = id, .verb = Verb::write, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()};
}

// A queue pair beside the first that completes to a queue with a channel.
struct Told : Pair {
  Told()
      : channel(must(a.device.create_completion_channel())),
        cq(must(a.device.create_completion_queue(8, &channel))),
        qa(must(a.domain.create_queue_pair({.send_cq = &cq}))),
        qb(must(b.domain.create_queue_pair({.send_cq = &b.cq}))) {
    must(weft::connect(qa, qb));
  }
  void write() {
    must(qa.post(write_of(*this)));
    EXPECT_TRUE(sim.run());
  }
  CompletionChannel channel;
  CompletionQueue cq;
  QueuePair qa, qb;
};

TEST(Queues, AnEventForEachRequest) {
  Told p;
  p.write();
  EXPECT_EQ(p.channel.next(), std::nullopt);  // nobody asked
  must(p.cq.request_notify());
  p.write();
  p.write();
  EXPECT_EQ(p.channel.next(), p.cq.number());
  EXPECT_EQ(p.channel.next(), std::nullopt);
  std::array<Completion, 2> two;
  EXPECT_EQ(p.cq.poll(two), 2U);
  EXPECT_EQ(p.cq.waiting(), 1U);
}

TEST(Queues, SolicitedEventsAreForThoseWhoAskForThem) {
  Told p;
  CompletionQueue inbox = must(p.a.device.create_completion_queue(8, &p.channel));
  QueuePair receiver = must(p.a.domain.create_queue_pair({.send_cq = &inbox}));
  QueuePair sender = must(p.b.domain.create_queue_pair({.send_cq = &p.b.cq}));
  must(connect(receiver, sender));
  must(inbox.request_notify(true));
  for (const bool solicited : {false, true}) {
    must(receiver.post_receive({}));
    must(sender.post({.solicited = solicited}));
    EXPECT_TRUE(p.sim.run());
    EXPECT_EQ(p.channel.next().has_value(), solicited);
  }
}

TEST(Queues, ModerationGathersEvents) {
  Told p;
  EXPECT_EQ(error_of(p.cq.moderate(3, Duration())), Error::invalid_argument);  // the last few would never be told
  must(p.cq.moderate(3, Duration::milliseconds(1)));
  must(p.cq.request_notify());
  const Duration start = p.sim.now();
  must(p.qa.post(write_of(p)));
  EXPECT_TRUE(p.sim.run_until([&] { return p.channel.next().has_value(); }));
  EXPECT_GE(p.sim.now() - start, Duration::milliseconds(1));
}

TEST(Queues, AResizedQueueKeepsWhatItHolds) {
  Pair p;
  for (std::uint64_t id = 0; id < 5; ++id) must(p.a.qp.post(write_of(p, id)));
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(error_of(p.a.cq.resize(4)), Error::invalid_argument);
  EXPECT_EQ(error_of(p.a.cq.resize(p.a.device.limits().max_completion_entries + 1)), Error::limit_exceeded);
  EXPECT_EQ(error_of(p.a.cq.resize(UINT32_MAX)), Error::limit_exceeded);
  must(p.a.cq.resize(5));
  EXPECT_EQ(p.a.cq.capacity(), 8U);
  const auto done = p.a.drain();
  ASSERT_EQ(done.size(), 5U);
  for (std::uint64_t id = 0; id < 5; ++id) EXPECT_EQ(done[id].id, id);
}

TEST(Queues, AnOverflowBreaksTheQueuePairAndSaysSo) {
  Pair p;
  CompletionQueue tiny = must(p.a.device.create_completion_queue(1));
  QueuePair qa = must(p.a.domain.create_queue_pair({.send_cq = &tiny}));
  QueuePair qb = must(p.b.domain.create_queue_pair({.send_cq = &p.b.cq}));
  must(connect(qa, qb));
  for (int i = 0; i < 3; ++i) must(qa.post(write_of(p)));
  EXPECT_TRUE(p.sim.run());
  EXPECT_TRUE(tiny.overflowed());
  EXPECT_EQ(qa.state(), QpState::error);
  EXPECT_EQ(qa.broken_by().name(), "qp_cq_overflow");
  std::vector<Event> events;
  while (const auto event = p.a.device.next_event()) events.push_back(*event);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, Event::cq_error);
  EXPECT_EQ(events[0].cq, tiny.number());
  EXPECT_EQ(events[1].kind, Event::qp_fatal);
  EXPECT_EQ(events[1].qpn, qa.qpn());
}

// Two queues have an event in the channel; the first is destroyed before anyone fetches them.
TEST(Queues, EventsOfOtherQueuesSurviveADestroyedQueue) {
  Told p;
  CompletionQueue doomed = must(p.a.device.create_completion_queue(8, &p.channel));
  {
    QueuePair qa = must(p.a.domain.create_queue_pair({.send_cq = &doomed}));
    QueuePair qb = must(p.b.domain.create_queue_pair({.send_cq = &p.b.cq}));
    must(connect(qa, qb));
    must(p.cq.request_notify());
    must(doomed.request_notify());
    p.write();
    must(qa.post(write_of(p)));
    EXPECT_TRUE(p.sim.run());
  }
  must(doomed.close());  // the later event
  EXPECT_EQ(p.channel.next(), p.cq.number());
  EXPECT_EQ(p.channel.next(), std::nullopt);
  must(p.cq.request_notify());
  p.write();
  EXPECT_EQ(p.channel.next(), p.cq.number());
}

TEST(Queues, SharedReceivesAndTheirLimit) {
  Pair p;
  SharedReceiveQueue srq = must(p.b.domain.create_shared_receive_queue({.entries = 4, .max_sges = 2}));
  EXPECT_EQ(srq.capacity(), 4U);
  EXPECT_EQ(srq.max_sges(), 2U);
  std::vector<QueuePair> senders, receivers;
  for (int i = 0; i < 2; ++i) {
    senders.push_back(must(p.a.domain.create_queue_pair({.send_cq = &p.a.cq})));
    receivers.push_back(must(p.b.domain.create_queue_pair({.send_cq = &p.b.cq, .srq = &srq})));
    must(connect(senders.back(), receivers.back()));
  }
  EXPECT_EQ(error_of(receivers[0].post_receive({})), Error::invalid_argument);
  for (std::uint64_t id = 0; id < 4; ++id) must(srq.post_receive({.id = id, .local = p.b.region.sge(id * 64, 64)}));
  EXPECT_EQ(error_of(srq.post_receive({})), Error::queue_full);
  EXPECT_EQ(error_of(srq.set_limit(5)), Error::invalid_argument);
  must(srq.set_limit(3));
  p.a.fill(0, 64, 5);
  for (QueuePair& sender : senders) must(sender.post({.local = p.a.region.sge(0, 64)}));
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.b.drain().size(), 2U);
  EXPECT_EQ(p.b.copy(64, 64), p.a.copy(0, 64));
  const auto event = p.b.device.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, Event::srq_limit_reached);
  EXPECT_EQ(event->srq, srq.number());
  EXPECT_EQ(srq.limit(), 0U);
  must(srq.post_receive({.id = 9}));  // polled receives are free again
}

TEST(Regions, AddressesAreTheWorldsUnlessChosen) {
  Pair p;
  EXPECT_EQ(p.a.region.address() >> 40, 1U);
  EXPECT_EQ(p.b.region.address() >> 40, 2U);
  EXPECT_EQ(p.a.region.length(), p.a.memory.size());
  EXPECT_EQ(p.a.region.bytes().data(), p.a.memory.data());
  EXPECT_EQ(p.a.region.access(), kAll);
  Region chosen = must(p.a.domain.register_memory(p.a.memory, {.access = Access::none, .address = 0x5000}));
  EXPECT_EQ(chosen.address(), 0x5000U);
  EXPECT_EQ(chosen.sge(16, 8).address, 0x5010U);
  Region zero = must(p.a.domain.register_memory(p.a.memory, Access::zero_based));
  EXPECT_EQ(zero.address(), 0U);
  EXPECT_NE(zero.key(), chosen.key());
}

TEST(Regions, ReregistrationChangesWhatIsGiven) {
  Pair p;
  const Key key = p.b.region.key();
  std::vector<std::byte> other(100);
  must(p.b.region.reregister({.memory = other, .access = Access::local_write | Access::remote_write}));
  EXPECT_EQ(p.b.region.key(), key);
  EXPECT_EQ(p.b.region.length(), 100U);
  EXPECT_EQ(p.b.region.bytes().data(), other.data());
  p.a.fill(0, 8, 3);
  EXPECT_TRUE(p.carry_out(write_of(p)).ok());
  EXPECT_EQ(std::vector(other.begin(), other.begin() + 8), p.a.copy(0, 8));

  EXPECT_EQ(error_of(p.b.region.reregister({.address = 7})), Error::invalid_argument);  // of which memory?
  EXPECT_EQ(error_of(p.b.region.reregister({.access = Access::remote_write})), Error::invalid_argument);
  Domain elsewhere = must(p.b.device.create_domain());
  must(p.b.region.reregister({.domain = &elsewhere}));
  EXPECT_EQ(error_of(elsewhere.close()), Error::busy);
  EXPECT_EQ(p.carry_out(write_of(p)).status, CompletionStatus::remote_access);
  must(p.b.region.reregister({.domain = &p.b.domain}));
}

TEST(Devices, CountUnderKnownNames) {
  Pair p;
  EXPECT_TRUE(p.carry_out(write_of(p)).ok());
  EXPECT_EQ(p.a.device.counter("sent_pkts"), 1U);
  EXPECT_EQ(p.b.device.counter("acks_sent"), 1U);
  EXPECT_EQ(p.a.device.counter("no_such_counter"), std::nullopt);
  for (const Counter& counter : p.a.device.counters()) {
    EXPECT_FALSE(counter.name.empty());
    EXPECT_FALSE(counter.meaning.empty()) << counter.name;
  }
  EXPECT_EQ(p.a.device.addresses(), 1);
  EXPECT_EQ(text(p.a.device.address()), "10.0.0.1");
  EXPECT_NE(p.a.device.random_psn(), p.a.device.random_psn());
}

}  // namespace
}  // namespace weft::test
