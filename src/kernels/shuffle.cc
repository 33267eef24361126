#include "kernels/shuffle.h"

#include <bit>

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelSent;
using nic::KernelStep;

constexpr std::uint32_t kValue = 8;
constexpr std::uint32_t kEmptiedAtOnce = 32;  // partitions, in a step
// Where each partition waits for room before it is sent; and places are read a few at a time.
constexpr std::uint32_t kMostSteps = 2 * kMostPartitions + kMostPartitions / kEmptiedAtOnce + 16;

// What each value touches lies together: how many wait, and the place for one more.
struct State {
  ShuffleCall call;
  bool begun = false;
  std::uint32_t known = 0;    // partitions whose place has been read
  std::uint32_t emptied = 0;  // in the answer that is under way
  Pieces<kValue> pieces;
  std::uint8_t waiting[kMostPartitions];
  std::uint64_t values[kMostPartitions][kValuesTogether];
  std::uint64_t written[kMostPartitions];  // values
  Outlet places[kMostPartitions];          // for what is not written yet
};

bool makes_sense(const ShuffleCall& c) {
  return std::has_single_bit(c.partitions) && c.partitions <= kMostPartitions && c.shift < 64 && c.sends <= 1;
}

KernelSent empty(State& s, KernelStep& step, std::size_t partition) {
  if (s.waiting[partition] == 0) return KernelSent::sent;
  const KernelSent sent = s.places[partition].put(step, s.values[partition], s.waiting[partition] * kValue);
  if (sent != KernelSent::sent) return sent;
  s.written[partition] += s.waiting[partition];
  s.waiting[partition] = 0;
  return sent;
}

// How many values were taken; `sent` says why not all. What waits in a full partition leaves now, or before the next.
std::size_t take(State& s, KernelStep& step, const std::byte* values, std::size_t count, KernelSent& sent) {
  const std::uint64_t mask = s.call.partitions - 1;
  const std::uint32_t shift = s.call.shift;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = word_at(values + i * kValue);
    const std::size_t partition = value >> shift & mask;
    if (s.waiting[partition] == kValuesTogether) [[unlikely]] {
      sent = empty(s, step, partition);
      if (sent != KernelSent::sent) return i;
    }
    const std::uint32_t n = s.waiting[partition];
    s.values[partition][n] = value;
    s.waiting[partition] = static_cast<std::uint8_t>(n + 1);
    if (n + 1 == kValuesTogether && empty(s, step, partition) == KernelSent::refused) {
      sent = KernelSent::refused;
      return i;
    }
  }
  return count;
}

std::uint32_t place_bytes(const State& s) { return s.call.sends != 0 ? sizeof(Outlet) : sizeof(Partition); }

KernelNext read_places(State& s, KernelStep& step) {
  const std::uint32_t bytes = place_bytes(s);
  const std::uint32_t some = std::min(s.call.partitions - s.known, KernelStep::kMostRead / bytes);
  return step.read(s.call.partitions_at + std::uint64_t{s.known} * bytes, some * bytes);
}

KernelNext on_places(State& s, KernelStep& step) {
  const std::uint32_t bytes = place_bytes(s);
  for (std::uint32_t at = 0; at < step.input_bytes; at += bytes) {
    std::memcpy(&s.places[s.known++], step.input + at, bytes);
  }
  return s.known < s.call.partitions ? read_places(s, step) : KernelNext::wait;
}

// Some partitions more; when all are empty, the answer.
KernelNext empty_some(State& s, KernelStep& step) {
  std::uint64_t counts[kEmptiedAtOnce];
  std::uint32_t n = 0;
  for (; n < kEmptiedAtOnce && s.emptied + n < s.call.partitions; ++n) {
    const KernelSent sent = empty(s, step, s.emptied + n);
    if (sent != KernelSent::sent) return sent == KernelSent::full ? KernelNext::retry : KernelNext::failed;
    counts[n] = s.written[s.emptied + n];
  }
  if (s.call.counts_to != 0 && !step.write(s.call.counts_to + s.emptied * kValue, counts, n * kValue))
    return KernelNext::failed;
  s.emptied += n;
  if (s.emptied < s.call.partitions) return KernelNext::again;
  ShuffleAnswer answer{.odd_bytes = s.pieces.kept()};
  for (std::uint32_t p = 0; p < s.call.partitions; ++p) answer.values += s.written[p];
  if (!step.reply(&answer, sizeof answer)) return KernelNext::failed;
  return s.call.ask == StreamAsk::finish ? KernelNext::done : KernelNext::wait;
}

KernelNext on_call(State& s, KernelStep& step) {
  ShuffleCall call;
  if (step.input_bytes != sizeof call) return KernelNext::failed;
  std::memcpy(&call, step.input, sizeof call);
  if (call.ask == StreamAsk::begin) {
    if (!makes_sense(call)) return KernelNext::failed;
    std::memset(step.state, 0, sizeof s);
    s.call = call;
    s.begun = true;
    return read_places(s, step);
  }
  if (!s.begun || call.ask > StreamAsk::finish) return KernelNext::failed;
  s.call.ask = call.ask;
  s.call.counts_to = call.counts_to;
  s.emptied = 0;
  return empty_some(s, step);
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::call) return on_call(s, step);
  if (!s.begun) return KernelNext::failed;
  switch (step.event) {
    case KernelEvent::data: return on_places(s, step);
    case KernelEvent::again: return empty_some(s, step);
    default: break;
  }
  KernelSent sent = KernelSent::sent;
  const auto each = [&](const std::byte* values, std::size_t n) { return take(s, step, values, n, sent); };
  const std::size_t taken = s.pieces.take(step.input, step.input_bytes, kValue, each);
  return after(step, sent, taken);
}

}  // namespace

nic::Kernel shuffle(std::uint32_t instances) {
  return {.opcode = kShuffle,
          .name = "shuffle",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = kMostSteps,
          .instances = instances};
}

}  // namespace weft::kernels
