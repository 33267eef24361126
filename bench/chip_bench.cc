// What it costs to simulate a chip: messages and events a second of processor time, and memory for each queue pair.
// SENDs of 512 bytes between two cards, 16 under way for each queue pair and every 16th signalled, as perftest does it.
//
//   build/bench/chip
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "lab/profile_shelf.h"
#include "lab/run.h"

namespace weft::lab {
namespace {

Setting setting(const char* name, std::int64_t qps) {
  const auto profile = ProfileShelf().find(name);
  if (!profile) throw std::runtime_error(profile.error());
  Setting s;
  s.profile = *profile;
  s.profile.device.card.congestion = nic::CongestionControl::none;
  s.qps = static_cast<std::uint32_t>(qps);
  s.depth = s.signal_every = 16;
  s.messages = 1'000'000;
  return s;
}

void messages(benchmark::State& state, const char* name) {
  const Setting s = setting(name, state.range(0));
  double events = 0, messages = 0;
  for (auto _ : state) {
    const Outcome outcome = run(s);
    const Messages m = messages_of(s);
    messages += static_cast<double>(m.warm_up + m.measured);
    for (const auto& [metric, value] : outcome) {
      if (metric == "events") events += value * static_cast<double>(m.warm_up + m.measured);
    }
  }
  state.counters["messages"] = benchmark::Counter(messages, benchmark::Counter::kIsRate);
  state.counters["events"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
  state.counters["events_each"] = events / messages;
}

// In bytes: how much is resident now ("VmRSS:"), or was at most ("VmHWM:").
double resident(const std::string& which) {
  std::ifstream file("/proc/self/status");
  std::string word;
  double kilobytes = 0;
  while (file >> word) {
    if (word == which) file >> kilobytes;
  }
  return kilobytes * 1024;
}

// Bytes that both ends of a connection take together while they send. This runs first: the system tells the largest
// resident size since the program began.
void memory(benchmark::State& state) {
  Setting s = setting("srnic", state.range(0));
  s.messages = 20'000;
  double bytes = 0;
  for (auto _ : state) {
    const double before = resident("VmRSS:");
    benchmark::DoNotOptimize(run(s));
    bytes = resident("VmHWM:") - before;
  }
  state.counters["bytes_a_qp"] = bytes / static_cast<double>(state.range(0));
}

BENCHMARK(memory)->ArgName("qps")->Arg(10'000)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(messages, srnic, "srnic")->ArgName("qps")->Arg(128)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(messages, connectx6, "connectx6")
    ->ArgName("qps")
    ->Arg(128)
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::lab
