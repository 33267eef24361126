// The simulated world as programs see it: time, faults, coroutines, and the same run twice.
#include <deque>
#include <sstream>
#include <stdexcept>

#include "pair.h"

namespace weft::test {
namespace {

WorkRequest write_across(Pair& p, std::uint32_t bytes = 8) {
  return {.verb = Verb::write, .local = p.a.region.sge(0, bytes), .remote = p.b.region.remote()};
}

TEST(Simulation, TimePassesOnlyInItsCalls) {
  Pair p;
  EXPECT_EQ(p.sim.now(), Duration());
  must(p.a.qp.post(write_across(p)));
  EXPECT_EQ(p.sim.now(), Duration());
  EXPECT_FALSE(p.sim.run(Duration::nanoseconds(500)));  // it is still on its way
  p.sim.run_for(Duration::microseconds(10));
  EXPECT_EQ(p.sim.now().in_microseconds(), 10.0);
  EXPECT_TRUE(p.a.drain().at(0).ok());
  EXPECT_TRUE(p.sim.run());
  EXPECT_TRUE(p.sim.at_rest());
  EXPECT_FALSE(p.sim.step());
}

TEST(Simulation, RunUntilStopsWhereItIsTrue) {
  Pair p;
  p.b.fill(0, 1, 0);
  p.a.fill(0, 1, 42);
  must(p.a.qp.post(write_across(p)));
  // The bytes are there before the sender knows.
  EXPECT_TRUE(p.sim.run_until([&] { return p.b.memory[0] == std::byte{42}; }));
  EXPECT_EQ(p.a.cq.waiting(), 0U);
  EXPECT_FALSE(p.sim.run_until([] { return false; }, Duration::nanoseconds(1500)));
  EXPECT_EQ(p.a.cq.waiting(), 0U);
  EXPECT_FALSE(p.sim.run_until([] { return false; }));
  EXPECT_EQ(p.a.cq.waiting(), 1U);
}

// What a condition posts is heard as well.
TEST(Simulation, AConditionMayPost) {
  Pair p;
  int left = 3;
  EXPECT_TRUE(p.sim.run_until([&] {
    Completion done;
    while (p.a.cq.poll(done)) --left;
    if (left > 0 && p.a.cq.waiting() == 0 && p.sim.at_rest()) must(p.a.qp.post(write_across(p)));
    return left == 0;
  }));
}

TEST(Simulation, FaultsAreALineOfText) {
  Pair p;
  EXPECT_TRUE(p.sim.set_faults("drop=1,count=world"));
  EXPECT_TRUE(p.carry_out(write_across(p)).ok());
  EXPECT_EQ(p.sim.network().lost, 1U);
  EXPECT_EQ(p.sim.network().sent, 3U);
  EXPECT_TRUE(p.sim.set_faults(p.b.device, "loss=1"));
  EXPECT_TRUE(p.sim.set_faults(p.a.device, "none"));
  EXPECT_EQ(p.carry_out(write_across(p)).status, CompletionStatus::retry_exceeded);
  EXPECT_GT(p.sim.network().lost, 5U);  // what happened under the plan before counts on

  const auto refused = p.sim.set_faults("loss=2");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), testing::HasSubstr("fault plan, at character 1"));
  EXPECT_FALSE(p.sim.set_faults(p.a.device, "rain"));
}

Task<> client(Simulation& sim, Pair& p, std::vector<double>& when) {
  for (int i = 0; i < 3; ++i) {
    must(p.a.qp.post(write_across(p)));
    const Completion done = co_await sim.completion(p.a.cq);
    EXPECT_TRUE(done.ok());
    when.push_back(sim.now().in_microseconds());
    co_await sim.sleep(Duration::microseconds(100));
  }
  must(p.a.qp.post(write_across(p)));  // heard although the task ends here
}

TEST(Simulation, CoroutinesWaitForCompletions) {
  Pair p;
  std::vector<double> when;
  p.sim.spawn(client(p.sim, p, when));
  EXPECT_EQ(p.sim.unfinished(), 1U);
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.sim.unfinished(), 0U);
  ASSERT_EQ(when.size(), 3U);
  EXPECT_NEAR(when[1] - when[0], 102, 1);
  EXPECT_EQ(p.a.drain().size(), 1U);
}

Task<> sleeper(Simulation& sim, int n, std::vector<int>& order) {
  co_await sim.sleep(Duration::microseconds(n));
  order.push_back(n);
}

Task<> parent(Simulation& sim, std::vector<int>& order) {
  std::vector<Task<>> tasks;
  for (const int n : {3, 1, 2}) tasks.push_back(sleeper(sim, n, order));
  co_await sim.all(std::move(tasks));
  order.push_back(4);
}

TEST(Simulation, CoroutinesRunBesideEachOther) {
  Simulation sim;
  sim.connect();
  std::vector<int> order;
  sim.spawn(parent(sim, order));
  EXPECT_TRUE(sim.run());
  EXPECT_THAT(order, testing::ElementsAre(1, 2, 3, 4));
}

Task<> fails(Simulation& sim) {
  co_await sim.sleep(Duration::nanoseconds(1));
  throw std::runtime_error("as intended");
}

TEST(Simulation, WhatATaskThrowsComesOutOfRun) {
  Simulation sim;
  sim.connect();
  sim.spawn(fails(sim));
  EXPECT_THROW((void)sim.run(), std::runtime_error);
}

Task<> waits_for_events(Pair& p, CompletionChannel& channel, int& told) {
  const CqNumber cq = co_await p.sim.completion_event(channel);
  told += static_cast<int>(cq.raw() < 1000);
  const Event event = co_await p.sim.event(p.a.device);
  told += event.kind == Event::sq_drained ? 10 : 0;
}

TEST(Simulation, CoroutinesWaitForEvents) {
  Pair p;
  CompletionChannel channel = must(p.a.device.create_completion_channel());
  CompletionQueue cq = must(p.a.device.create_completion_queue(4, &channel));
  QueuePair qa = must(p.a.domain.create_queue_pair({.send_cq = &cq}));
  QueuePair qb = must(p.b.domain.create_queue_pair({.send_cq = &p.b.cq}));
  must(connect(qa, qb));
  must(cq.request_notify());
  int told = 0;
  p.sim.spawn(waits_for_events(p, channel, told));
  must(qa.post(write_across(p)));
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(told, 1);
  must(qa.to_send_queue_drained(true));
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(told, 11);
}

// A task that never ends may own what it likes: it ends before the simulation does.
Task<> owns(Simulation& sim, Device device) {
  Domain domain = must(device.create_domain());
  CompletionQueue cq = must(device.create_completion_queue(1));
  (void)co_await sim.completion(cq);
}

TEST(Simulation, EndsTasksThatStillWait) {
  Simulation sim;
  Device device = sim.add_device();
  sim.connect();
  sim.spawn(owns(sim, std::move(device)));
  EXPECT_TRUE(sim.run());
  EXPECT_EQ(sim.unfinished(), 1U);
}

std::uint64_t digest_of(std::uint64_t seed, std::ostream* trace = nullptr) {
  Pair p(Service::rc, {.seed = seed, .loss = 0.05, .device = kSmall});
  p.sim.trace_to(trace);
  for (int i = 0; i < 10; ++i) must(p.a.qp.post(write_across(p, 16 * 1024)));
  EXPECT_TRUE(p.sim.run());
  EXPECT_EQ(p.a.drain().size(), 10U);
  EXPECT_EQ(p.sim.network().lost, p.sim.network().sent - p.sim.network().delivered);
  return p.sim.digest();
}

TEST(Simulation, TheSameSeedDoesTheSame) {
  std::ostringstream trace;
  EXPECT_EQ(digest_of(5), digest_of(5, &trace));
  EXPECT_NE(digest_of(5), digest_of(6));
  EXPECT_THAT(trace.str(), testing::HasSubstr("RC WRITE first"));
}

TEST(Simulation, ManyDevicesStandAroundASwitch) {
  Simulation sim({.device = kSmall});
  std::deque<Side> sides;
  for (int i = 0; i < 5; ++i) sides.emplace_back(sim);
  sim.connect();
  std::vector<QueuePair> qps;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Side &from = sides[i], &to = sides[(i + 2) % sides.size()];
    qps.push_back(must(from.domain.create_queue_pair({.send_cq = &from.cq})));
    qps.push_back(must(to.domain.create_queue_pair({.send_cq = &to.cq})));
    QueuePair& near = qps[qps.size() - 2];
    must(connect(near, qps.back()));
    from.fill(0, 100, static_cast<int>(i));
    must(near.post({.verb = Verb::write, .local = from.region.sge(0, 100), .remote = to.region.remote(1000)}));
  }
  EXPECT_TRUE(sim.run());
  for (std::size_t i = 0; i < sides.size(); ++i) {
    EXPECT_EQ(sides[(i + 2) % sides.size()].copy(1000, 100), sides[i].copy(0, 100));
  }
}

using SimulationDeathTest = testing::Test;

TEST(SimulationDeathTest, IsBuiltInOrder) {
  EXPECT_DEATH(Simulation().run(), "runs after connect");
  EXPECT_DEATH(
      {
        Simulation sim;
        sim.connect();
        Device late = sim.add_device();
      },
      "no more devices after connect");
  EXPECT_DEATH(Simulation({.loss = 1.5}), "loss is a probability");
}

TEST(SimulationDeathTest, KnowsItsOwnDevices) {
  Pair p;
  Simulation other;
  EXPECT_DEATH((void)other.set_faults(p.a.device, "none"), "runs after connect");
  other.connect();
  EXPECT_DEATH((void)other.set_faults(p.a.device, "none"), "a device of another world");
}

}  // namespace
}  // namespace weft::test
