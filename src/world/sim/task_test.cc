#include "world/sim/task.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "world/sim/scheduler.h"
#include "world/sim/signal.h"
#include "world/sim/test_hosts.h"

namespace weft::sim {
namespace {

// A world in which only tasks happen.
struct Stage {
  explicit Stage(std::uint64_t seed = 1) : fabric(seed) {}
  Fabric<TestHost> fabric;
  Scheduler& tasks = fabric.tasks();
  std::vector<std::string> log;

  void note(const std::string& what) { log.push_back(std::to_string(fabric.now()) + " " + what); }
  void run() {
    EXPECT_EQ(fabric.run_until_idle(), Stop::idle);
    EXPECT_EQ(tasks.unfinished(), 0u);
  }
};
using Log = std::vector<std::string>;

Task<> sleeper(Stage& stage, Time first, Time second) {
  stage.note("begins");
  co_await stage.tasks.sleep(first);
  stage.note("sleeps on");
  co_await stage.tasks.sleep_until(second);
  stage.note("ends");
}

TEST(Task, SleepsAsLongAsItSays) {
  Stage stage;
  const Job job = stage.tasks.spawn(sleeper(stage, 100, 250));
  EXPECT_TRUE(stage.log.empty());  // it starts by an event, not at once
  EXPECT_FALSE(stage.tasks.done(job));
  stage.run();
  EXPECT_TRUE(stage.tasks.done(job));
  EXPECT_EQ(stage.log, (Log{"0 begins", "100 sleeps on", "250 ends"}));
}

Task<int> doubled(Stage& stage, int value, Time pause) {
  if (pause > 0) co_await stage.tasks.sleep(pause);
  co_return 2 * value;
}
Task<std::unique_ptr<int>> boxed(Stage& stage, int value) {
  co_return std::make_unique<int>(co_await doubled(stage, value, 5));
}
Task<> adder(Stage& stage, int& sum) {
  sum += co_await doubled(stage, 1, 0);
  sum += co_await doubled(stage, 10, 7);
  const std::unique_ptr<int> box = co_await boxed(stage, 100);
  sum += *box;
}

TEST(Task, ReturnsValuesToWhoAwaitsIt) {
  Stage stage;
  int sum = 0;
  stage.tasks.spawn(adder(stage, sum));
  stage.run();
  EXPECT_EQ(sum, 222);
  EXPECT_EQ(stage.fabric.now(), 12);
}

TEST(Task, ThatIsNeverAwaitedNeverRuns) {
  Stage stage;
  { const Task<> forgotten = sleeper(stage, 1, 2); }
  EXPECT_TRUE(stage.log.empty());
}

// Neither children that end at once nor children that wait make the stack grow.
Task<> patient(Stage& stage, int& count, int rounds, Time pause) {
  for (int i = 0; i < rounds; ++i) count += co_await doubled(stage, 1, pause) / 2;
}
TEST(Task, AwaitsAMillionChildren) {
  Stage stage;
  int count = 0;
  stage.tasks.spawn(patient(stage, count, 1'000'000, 0));
  stage.tasks.spawn(patient(stage, count, 200'000, 1));
  stage.run();
  EXPECT_EQ(count, 1'200'000);
}

Task<int> nested(Stage& stage, int depth) {
  if (depth == 0) {
    co_await stage.tasks.sleep(1);
    co_return 0;
  }
  const int below = co_await nested(stage, depth - 1);
  co_return below + 1;
}
Task<> nest(Stage& stage, int& depth) { depth = co_await nested(stage, 1'000); }
TEST(Task, NestsDeeply) {
  Stage stage;
  int depth = 0;
  stage.tasks.spawn(nest(stage, depth));
  stage.run();
  EXPECT_EQ(depth, 1'000);
}

// ---- failures ------------------------------------------------------------------------------------------------------

Task<int> failing(Stage& stage, Time pause) {
  if (pause > 0) co_await stage.tasks.sleep(pause);
  throw std::runtime_error("as planned");
}
Task<> catching(Stage& stage, Time pause) {
  try {
    (void)co_await failing(stage, pause);
  } catch (const std::runtime_error& error) {
    stage.note(error.what());
  }
}
Task<> passing_on(Stage& stage, Time pause) { (void)co_await failing(stage, pause); }

TEST(TaskFailure, IsCaughtWhereItIsAwaited) {
  Stage stage;
  stage.tasks.spawn(catching(stage, 0));
  stage.tasks.spawn(catching(stage, 10));
  stage.run();
  EXPECT_EQ(stage.log, (Log{"0 as planned", "10 as planned"}));
}

TEST(TaskFailure, ComesOutOfTheRun) {
  for (const Time pause : {0, 10}) {
    Stage stage;
    stage.tasks.spawn(passing_on(stage, pause));
    stage.tasks.spawn(sleeper(stage, 5, 100));
    EXPECT_THROW(stage.fabric.run_until_idle(), std::runtime_error);
    EXPECT_EQ(stage.fabric.now(), pause);
    EXPECT_EQ(stage.tasks.unfinished(), 1u);  // the other is still there, and goes on if it is let
    stage.run();
    EXPECT_EQ(stage.log.back(), "100 ends");
  }
}

// ---- signals -------------------------------------------------------------------------------------------------------

Task<> waiter(Stage& stage, Signal& signal, std::string name) {
  co_await signal.wait();
  stage.note(name);
}
Task<> impatient(Stage& stage, Signal& signal, Time until) {
  stage.note(co_await signal.wait_until(until) ? "notified" : "timed out");
}
Task<> notifier(Stage& stage, Signal& signal, Time at, bool all) {
  co_await stage.tasks.sleep_until(at);
  if (all) {
    signal.notify_all();
  } else {
    signal.notify_one();
  }
}

TEST(Signal, WakesAllWhoWait) {
  Stage stage;
  Signal signal(stage.tasks);
  for (int i = 0; i < 3; ++i) stage.tasks.spawn(waiter(stage, signal, "went on"));
  stage.tasks.spawn(notifier(stage, signal, 50, true));
  stage.run();
  EXPECT_EQ(stage.log, (Log{"50 went on", "50 went on", "50 went on"}));
}

TEST(Signal, WakesOneAfterTheOther) {
  Stage stage;
  Signal signal(stage.tasks);
  stage.tasks.spawn(waiter(stage, signal, "first"));
  stage.fabric.run_until(1);
  stage.tasks.spawn(waiter(stage, signal, "second"));
  stage.fabric.run_until(2);
  for (const Time at : {10, 20}) stage.tasks.spawn(notifier(stage, signal, at, false));
  stage.run();
  EXPECT_EQ(stage.log, (Log{"10 first", "20 second"}));
  EXPECT_FALSE(signal.awaited());
}

TEST(Signal, ForgetsANoticeThatNobodyAwaited) {
  Stage stage;
  Signal signal(stage.tasks);
  signal.notify_all();
  EXPECT_FALSE(signal.notify_one());
  stage.tasks.spawn(waiter(stage, signal, "never"));
  EXPECT_EQ(stage.fabric.run_until_idle(), Stop::idle);
  EXPECT_EQ(stage.tasks.unfinished(), 1u);  // a test sees who was left waiting
  EXPECT_TRUE(stage.log.empty());
}

TEST(Signal, WaitsNoLongerThanItIsTold) {
  Stage stage;
  Signal signal(stage.tasks);
  stage.tasks.spawn(impatient(stage, signal, 30));
  stage.tasks.spawn(impatient(stage, signal, 70));
  stage.tasks.spawn(notifier(stage, signal, 50, true));
  stage.run();
  EXPECT_EQ(stage.log, (Log{"30 timed out", "50 notified"}));
  EXPECT_FALSE(signal.awaited());
}

// A notice and a time-out at the same time: in either order, the task goes on once, and a notice that was given to a
// waiter counts for that waiter.
TEST(Signal, ANoticeAndATimeOutAtOnceAreOne) {
  int notified = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Stage stage(seed);
    Signal signal(stage.tasks);
    stage.tasks.spawn(impatient(stage, signal, 50));
    stage.tasks.spawn(notifier(stage, signal, 50, false));
    stage.run();
    ASSERT_EQ(stage.log.size(), 1u);
    notified += stage.log[0] == "50 notified";
  }
  EXPECT_GT(notified, 20);
  EXPECT_LT(notified, 80);
}

// Who waits is woken in an order that no one can rely on.
TEST(Signal, OrderIsTheSeeds) {
  std::array<int, 2> first{};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Stage stage(seed);
    Signal signal(stage.tasks);
    for (const char* name : {"0", "1"}) stage.tasks.spawn(waiter(stage, signal, name));
    stage.tasks.spawn(notifier(stage, signal, 9, true));
    stage.run();
    ++first[stage.log[0] == "9 1"];
  }
  EXPECT_GT(first[0], 150);
  EXPECT_GT(first[1], 150);
}

// ---- jobs ----------------------------------------------------------------------------------------------------------

Task<> joiner(Stage& stage, Job job) {
  co_await stage.tasks.join(job);
  stage.note("joined");
}

TEST(Job, IsJoinedWhenItIsDone) {
  Stage stage;
  const Job job = stage.tasks.spawn(sleeper(stage, 10, 20));
  stage.tasks.spawn(joiner(stage, job));
  stage.tasks.spawn(joiner(stage, job));
  stage.run();
  EXPECT_EQ(stage.log, (Log{"0 begins", "10 sleeps on", "20 ends", "20 joined", "20 joined"}));
  stage.tasks.spawn(joiner(stage, job));  // done long ago, and its slot may be another's
  stage.run();
  EXPECT_EQ(stage.log.back(), "20 joined");
}

Task<> parts(Stage& stage) {
  std::vector<Task<>> several;
  for (const Time time : {30, 10, 20}) several.push_back(sleeper(stage, 1, time));
  co_await all(stage.tasks, std::move(several));
  stage.note("all done");
}

TEST(Job, AllWaitsForTheLast) {
  Stage stage;
  stage.tasks.spawn(parts(stage));
  stage.run();
  EXPECT_EQ(stage.log.back(), "30 all done");
}

Task<> holder(Stage& stage, std::shared_ptr<int> held) {
  co_await stage.tasks.sleep(10);
  (void)held;
  co_await nested(stage, 3);
}

TEST(Job, ThatIsAbandonedGivesBackWhatItHeld) {
  const auto held = std::make_shared<int>(1);
  {
    Stage stage;
    stage.tasks.spawn(holder(stage, held));
    stage.tasks.spawn(holder(stage, held));
    stage.fabric.run_until(5);
    EXPECT_EQ(held.use_count(), 3);
    stage.tasks.abandon();
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_EQ(stage.tasks.unfinished(), 0u);
    stage.run();  // events that are left concern nobody
    stage.tasks.spawn(holder(stage, held));
    stage.fabric.run_until(15);
  }
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace weft::sim
