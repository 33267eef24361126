#include "world/sim/event_queue.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using world::kGolden, world::mix64, world::Random;

std::vector<std::uint32_t> arguments(EventQueue& queue) {
  std::vector<std::uint32_t> all;
  for (Event event; queue.pop(event);) all.push_back(event.argument);
  return all;
}

TEST(EventQueue, CarriesWhatWasPushed) {
  EventQueue queue(1);
  queue.push(7, 250, Event::kMaxTarget, 0xFFFF'FFFF);
  Event event;
  ASSERT_TRUE(queue.pop(event));
  EXPECT_EQ(event.at, 7);
  EXPECT_EQ(event.kind(), 250);
  EXPECT_EQ(event.target(), Event::kMaxTarget);
  EXPECT_EQ(event.argument, 0xFFFF'FFFF);
  EXPECT_FALSE(queue.pop(event));
  EXPECT_EQ(queue.next_time(), kNever);
}

TEST(EventQueue, TimeDecides) {
  EventQueue queue(1);
  for (const std::uint32_t at : {5u, 1u, 3u, 2u, 4u, 0u}) queue.push(at, 0, 0, at);
  EXPECT_EQ(arguments(queue), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5}));
}

TEST(EventQueue, KeepsToTheLimitAndToTheClock) {
  EventQueue queue(1);
  queue.push(10, 0, 0, 1);
  queue.push(20, 0, 0, 2);
  Event event;
  EXPECT_FALSE(queue.pop(event, 9));
  EXPECT_EQ(queue.now(), 0);
  EXPECT_TRUE(queue.pop(event, 10));
  EXPECT_EQ(queue.now(), 10);
  queue.advance_to(15);
  queue.push(15, 0, 0, 3);  // earlier than anything the queue has looked at
  EXPECT_TRUE(queue.pop(event));
  EXPECT_EQ(event.argument, 3u);
  EXPECT_EQ(queue.size(), 1u);
}

// ---- against a model: any distribution, any size -------------------------------------------------------------------

struct Later {
  bool operator()(const Event& a, const Event& b) const { return b.before(a); }
};

using Delay = std::function<Time(Random&)>;

void expect_same_order_as_model(std::uint64_t seed, std::size_t pending, std::size_t steps, const Delay& delay) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << pending << " pending");
  EventQueue queue(seed);
  std::priority_queue<Event, std::vector<Event>, Later> model;
  Random random(seed);
  std::uint32_t number = 0;
  const std::uint64_t salt = mix64(seed + kGolden);  // the documented tie: a mixture of seed and number
  const auto push = [&](Time at) {
    model.push({at, mix64(salt + number * kGolden), Event::pack(3, number & 0xFF), number});
    queue.push(at, 3, number & 0xFF, number);
    ++number;
  };
  for (std::size_t i = 0; i < pending; ++i) push(delay(random));
  for (std::size_t i = 0; i < steps; ++i) {
    ASSERT_EQ(queue.size(), model.size());
    Event event;
    ASSERT_EQ(queue.pop(event), !model.empty());
    if (model.empty()) break;
    ASSERT_EQ(event.at, model.top().at);
    ASSERT_EQ(event.argument, model.top().argument);
    model.pop();
    for (std::uint64_t more = random.below(3); more > 0 && model.size() < 2 * pending; --more) {
      push(event.at + delay(random));
    }
    if (random.below(8) != 0) continue;
    ASSERT_EQ(queue.next_time(), model.empty() ? kNever : model.top().at);
  }
}

TEST(EventQueue, OrdersLikeAModelWhateverTheTimes) {
  const std::vector<Delay> delays{
      [](Random& r) { return r.between(0, 2'000'000); },                                          // even
      [](Random& r) { return r.between(0, 3) * 80; },                                             // mostly ties
      [](Random&) { return Time{0}; },                                                            // only ties
      [](Random& r) { return r.chance(0.1) ? r.between(0, seconds(10)) : r.between(0, 5'000); },  // timers
      [](Random& r) { return Time{1} << r.below(55); },                                           // every scale
  };
  for (const Delay& delay : delays) {
    for (const std::size_t pending : {1, 30, 1'000}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) expect_same_order_as_model(seed, pending, 5'000, delay);
    }
  }
  expect_same_order_as_model(6, 100'000, 300'000, delays[0]);
}

// A queue that has looked ahead must still take what comes before that; and very much of it.
TEST(EventQueue, TakesManyEventsBeforeTheOneItLookedAt) {
  EventQueue queue(1);
  queue.push(seconds(1), 0, 0, 0);
  EXPECT_EQ(queue.next_time(), seconds(1));
  for (std::uint32_t i = 1'000; i > 0; --i) queue.push(i * 1'000, 0, 0, i);
  std::vector<std::uint32_t> got = arguments(queue);
  ASSERT_EQ(got.size(), 1'001u);
  EXPECT_EQ(got.back(), 0u);
  got.pop_back();
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

TEST(EventQueue, HoldsTimesUpToTheEndOfTime) {
  EventQueue queue(1);
  queue.push(kNever - 1, 0, 0, 2);
  queue.push(kNever - 2, 0, 0, 1);
  queue.push(0, 0, 0, 0);
  EXPECT_EQ(arguments(queue), (std::vector<std::uint32_t>{0, 1, 2}));
}

// ---- ties
// ------------------------------------------------------------------------------------------------------------

std::vector<std::uint32_t> order_of_ties(std::uint64_t seed, std::uint32_t count) {
  EventQueue queue(seed);
  for (std::uint32_t i = 0; i < count; ++i) queue.push(42, 0, 0, i);
  return arguments(queue);
}

TEST(EventQueueTies, AreBrokenByTheSeedAlone) {
  EXPECT_EQ(order_of_ties(1, 100), order_of_ties(1, 100));
  EXPECT_NE(order_of_ties(1, 100), order_of_ties(2, 100));
}

// Over many seeds, each of four simultaneous events is first, second, third and last equally often.
TEST(EventQueueTies, AreBrokenFairly) {
  constexpr std::uint32_t kEvents = 4, kSeeds = 20'000;
  std::array<std::array<int, kEvents>, kEvents> seen{};
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<std::uint32_t> order = order_of_ties(seed, kEvents);
    for (std::uint32_t place = 0; place < kEvents; ++place) ++seen[order[place]][place];
  }
  double chi_squared = 0;
  constexpr double kExpected = double{kSeeds} / kEvents;
  for (const auto& event : seen) {
    for (const int count : event) chi_squared += (count - kExpected) * (count - kExpected) / kExpected;
  }
  EXPECT_LT(chi_squared, 27.9);  // nine degrees of freedom: one in a thousand would be more
}

// And within one run: who asked first is served first half of the time.
TEST(EventQueueTies, FavourNobodyWithinARun) {
  EventQueue queue(1);
  int first_asked_first_served = 0;
  for (Time at = 1; at <= 20'000; ++at) {
    queue.push(at, 0, 0, 0);
    queue.push(at, 0, 0, 1);
    Event event;
    ASSERT_TRUE(queue.pop(event));
    first_asked_first_served += event.argument == 0;
    ASSERT_TRUE(queue.pop(event));
  }
  EXPECT_NEAR(first_asked_first_served, 10'000, 400);
}

}  // namespace
}  // namespace weft::sim
