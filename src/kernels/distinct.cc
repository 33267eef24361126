#include "kernels/distinct.h"

#include <bit>
#include <cmath>

#include "kernels/sketch_hash.h"

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelSent;
using nic::KernelStep;

constexpr std::uint32_t kValue = 8, kPart = 4096;  // registers are read and written in parts
static_assert(kSketchBytes % kPart == 0 && kPart <= KernelStep::kMostRead);

struct State {
  DistinctCall call;
  bool begun = false;
  std::uint64_t values = 0;
  Outlet stream;
  std::uint32_t merged = 0;  // bytes of registers
  Pieces<kValue> pieces;
  // No register holds less, as far as is known; and how many values have been looked at since that was found out.
  std::uint32_t floor = 0, looked_at = 0;
  std::uint8_t registers[kSketchBytes] = {};
};

constexpr std::size_t kTogether = 256;                 // values
constexpr std::uint32_t kLookedAt = 4 * kSketchBytes;  // before the smallest register is looked for again

// The first bits of a value's hash choose a register, which keeps the longest run of zeros of the others, and one. Soon
// most values change nothing.
std::size_t count_all(State& s, const std::byte* values, std::size_t n) {
  std::uint16_t places[kTogether];
  std::uint8_t runs[kTogether];
  find_registers(values, n, places, runs);
  for (std::size_t i = 0; i < n; ++i) {
    if (runs[i] > s.registers[places[i]]) [[unlikely]]
      s.registers[places[i]] = runs[i];
  }
  return n;
}

// A run that is no longer than what every register holds changes none. Where a stream has many different values that is
// soon so of most, and no register is looked at for them. How many were looked at.
std::size_t count_longer_runs(State& s, const std::byte* values, std::size_t n) {
  std::uint64_t hashes[kTogether + kMoreHashes];
  const std::size_t found = find_hashes(values, n, bits_of_run(s.floor), hashes);
  for (std::size_t i = 0; i < found; ++i) {
    std::uint8_t& longest = s.registers[place_of_hash(hashes[i])];
    longest = std::max(longest, run_of_hash(hashes[i]));
  }
  return found;
}

// Written so that compilers take many at a time, which they do not make of std::min_element.
std::uint8_t smallest_of(const State& s) {
  std::uint8_t smallest = s.registers[0];
  for (const std::uint8_t r : s.registers) smallest = std::min(smallest, r);
  return smallest;
}

void count(State& s, const std::byte* values, std::size_t n) {
  s.values += n;
  while (n != 0) {
    const std::size_t some = std::min(n, kTogether);
    const std::size_t looked_at = s.floor == 0 ? count_all(s, values, some) : count_longer_runs(s, values, some);
    s.looked_at += static_cast<std::uint32_t>(looked_at);
    if (s.looked_at >= kLookedAt) {
      s.floor = smallest_of(s);
      s.looked_at = 0;
    }
    values += some * kValue;
    n -= some;
  }
}

// Flajolet et al. 2007, with its correction for small numbers; a hash of 64 bits needs none for large ones.
double estimate(const State& s) {
  constexpr double m = kSketchBytes, alpha = 0.7213 / (1 + 1.079 / m);
  double sum = 0;
  std::uint32_t empty = 0;
  for (const std::uint8_t r : s.registers) {
    sum += std::ldexp(1.0, -r);
    empty += r == 0 ? 1 : 0;
  }
  const double raw = alpha * m * m / sum;
  return raw <= 2.5 * m && empty != 0 ? m * std::log(m / empty) : raw;
}

KernelNext answer(State& s, KernelStep& step) {
  if (s.call.save_to != 0) {
    for (std::uint32_t at = 0; at < kSketchBytes; at += kPart) {
      if (!step.write(s.call.save_to + at, s.registers + at, kPart)) return KernelNext::failed;
    }
  }
  const DistinctAnswer a{.values = s.values, .distinct = estimate(s), .odd_bytes = s.pieces.kept()};
  if (!step.reply(&a, sizeof a)) return KernelNext::failed;
  return s.call.ask == StreamAsk::finish ? KernelNext::done : KernelNext::wait;
}

KernelNext on_call(State& s, KernelStep& step) {
  DistinctCall call;
  if (step.input_bytes != sizeof call) return KernelNext::failed;
  std::memcpy(&call, step.input, sizeof call);
  if (call.ask == StreamAsk::begin) {
    s = State{};
    s.call = call;
    s.stream = call.stream;
    s.begun = true;
    return KernelNext::wait;
  }
  if (!s.begun || call.ask > StreamAsk::finish) return KernelNext::failed;
  s.call = call;
  s.merged = 0;
  return call.merge_from != 0 ? step.read(call.merge_from, kPart) : answer(s, step);
}

KernelNext merge(State& s, KernelStep& step) {
  for (std::uint32_t i = 0; i < step.input_bytes; ++i, ++s.merged) {
    s.registers[s.merged] = std::max(s.registers[s.merged], static_cast<std::uint8_t>(step.input[i]));
  }
  return s.merged < kSketchBytes ? step.read(s.call.merge_from + s.merged, kPart) : answer(s, step);
}

KernelNext on_payload(State& s, KernelStep& step) {
  if (s.stream.address != 0) {
    const KernelSent sent = s.stream.put(step, step.input, step.input_bytes);
    if (sent != KernelSent::sent) return after(step, sent, 0);
  }
  (void)s.pieces.take(step.input, step.input_bytes, kValue, [&](const std::byte* values, std::size_t n) {
    count(s, values, n);
    return n;
  });
  return KernelNext::wait;
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::call) return on_call(s, step);
  if (!s.begun) return KernelNext::failed;
  if (step.event == KernelEvent::data) return merge(s, step);
  return step.event == KernelEvent::payload ? on_payload(s, step) : KernelNext::failed;
}

}  // namespace

nic::Kernel distinct(std::uint32_t instances) {
  return {.opcode = kDistinct,
          .name = "distinct",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = 2 + kSketchBytes / kPart,
          .instances = instances};
}

}  // namespace weft::kernels
