#include "kernels/shuffle.h"

#include <bit>

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

constexpr std::uint32_t kValue = 8;
constexpr std::uint32_t kEmptiedAtOnce = 32;  // partitions, in a step
constexpr std::uint32_t kReadAtOnce = KernelStep::kMostRead / sizeof(Partition);

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
  Partition places[kMostPartitions];       // for what is not written yet
};

bool makes_sense(const ShuffleCall& c) {
  return std::has_single_bit(c.partitions) && c.partitions <= kMostPartitions && c.shift < 64;
}

bool empty(State& s, KernelStep& step, std::size_t partition) {
  Partition& place = s.places[partition];
  const std::uint32_t bytes = s.waiting[partition] * kValue;
  if (bytes == 0) return true;
  if (bytes > place.room_bytes) return false;
  if (!step.write(place.address, s.values[partition], bytes)) return false;
  place.address += bytes;
  place.room_bytes -= bytes;
  s.written[partition] += s.waiting[partition];
  s.waiting[partition] = 0;
  return true;
}

bool take(State& s, KernelStep& step, const std::byte* values, std::size_t count) {
  const std::uint64_t mask = s.call.partitions - 1;
  const std::uint32_t shift = s.call.shift;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = word_at(values + i * kValue);
    const std::size_t partition = value >> shift & mask;
    const std::uint32_t n = s.waiting[partition];
    s.values[partition][n] = value;
    s.waiting[partition] = static_cast<std::uint8_t>(n + 1);
    if (n + 1 == kValuesTogether && !empty(s, step, partition)) return false;
  }
  return true;
}

KernelNext read_places(State& s, KernelStep& step) {
  const std::uint32_t some = std::min(s.call.partitions - s.known, kReadAtOnce);
  return step.read(s.call.partitions_at + s.known * sizeof(Partition),
                   static_cast<std::uint32_t>(some * sizeof(Partition)));
}

KernelNext on_places(State& s, KernelStep& step) {
  for (std::uint32_t at = 0; at < step.input_bytes; at += sizeof(Partition)) {
    std::memcpy(&s.places[s.known++], step.input + at, sizeof(Partition));
  }
  return s.known < s.call.partitions ? read_places(s, step) : KernelNext::wait;
}

// Some partitions more; when all are empty, the answer.
KernelNext empty_some(State& s, KernelStep& step) {
  std::uint64_t counts[kEmptiedAtOnce];
  std::uint32_t n = 0;
  for (; n < kEmptiedAtOnce && s.emptied + n < s.call.partitions; ++n) {
    if (!empty(s, step, s.emptied + n)) return KernelNext::failed;
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
  const bool goes_on = s.pieces.take(step.input, step.input_bytes, kValue,
                                     [&](const std::byte* values, std::size_t n) { return take(s, step, values, n); });
  return goes_on ? KernelNext::wait : KernelNext::failed;
}

}  // namespace

nic::Kernel shuffle(std::uint32_t instances) {
  return {.opcode = kShuffle,
          .name = "shuffle",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = kMostPartitions / kEmptiedAtOnce + 2,
          .instances = instances};
}

}  // namespace weft::kernels
