// What an event costs: one pop and one push with so many pending, beside a single 4-ary heap. Delays are drawn as a
// packet network draws them (most short, one in ten a timer), evenly, or from a hundred values (many ties).
//
//   build/bench/sim_queue
#include <cstddef>
#include <cstdint>

#include <benchmark/benchmark.h>

#include "world/random.h"
#include "world/sim/event_heap.h"
#include "world/sim/event_queue.h"

namespace weft::sim {
namespace {

using world::kGolden, world::mix64, world::Random;

// The queue one would write first.
class PlainHeap {
 public:
  explicit PlainHeap(std::uint64_t seed) : seed_(seed) {}
  void push(Time at, std::uint8_t kind, std::uint32_t target, std::uint32_t argument) {
    heap_.push({at, mix64(seed_ + pushed_++ * kGolden), Event::pack(kind, target), argument});
  }
  bool pop(Event& out) {
    if (heap_.empty()) return false;
    out = heap_.top();
    heap_.pop();
    return true;
  }

 private:
  EventHeap heap_;
  std::uint64_t seed_, pushed_ = 0;
};

Time packets(Random& random) {
  return random.below(10) != 0 ? random.between(1'000, 100'000) : random.between(microseconds(10), milliseconds(1));
}
Time even(Random& random) { return random.between(1, microseconds(2)); }
Time ties(Random& random) { return 80 * random.between(1, 100); }

template <class Queue, Time (*Delay)(Random&)>
void hold(benchmark::State& state) {
  Queue queue(1);
  Random random(7);
  const auto pending = static_cast<std::size_t>(state.range(0));
  for (std::size_t i = 0; i < pending; ++i) queue.push(Delay(random), 0, 0, 0);
  Event event{};
  const auto turn = [&] {
    benchmark::DoNotOptimize(queue.pop(event));
    queue.push(event.at + Delay(random), 0, 0, 0);
  };
  for (std::size_t i = 0; i < 2 * pending; ++i) turn();
  for (auto _ : state) turn();
  state.SetItemsProcessed(state.iterations());
}

#define WEFT_HOLD(queue, delay) BENCHMARK(hold<queue, delay>)->RangeMultiplier(100)->Range(100, 1'000'000)
WEFT_HOLD(EventQueue, packets);
WEFT_HOLD(PlainHeap, packets);
WEFT_HOLD(EventQueue, even);
WEFT_HOLD(PlainHeap, even);
WEFT_HOLD(EventQueue, ties);
WEFT_HOLD(PlainHeap, ties);
#undef WEFT_HOLD

}  // namespace
}  // namespace weft::sim
