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

struct Bin {
  Partition place;
  std::uint64_t count = 0;  // values that have come
  std::uint32_t waiting = 0;
  std::uint64_t values[kValuesTogether];
};

struct State {
  ShuffleCall call;
  bool begun = false;
  std::uint32_t known = 0;    // partitions whose place has been read
  std::uint32_t emptied = 0;  // in the answer that is under way
  std::uint64_t values = 0;
  Pieces<kValue> pieces;
  Bin bins[kMostPartitions];
};

bool makes_sense(const ShuffleCall& c) {
  return std::has_single_bit(c.partitions) && c.partitions <= kMostPartitions && c.shift < 64;
}

bool empty(Bin& bin, KernelStep& step) {
  const std::uint64_t bytes = std::uint64_t{bin.waiting} * kValue;
  if (bytes == 0) return true;
  if (bytes > bin.place.room_bytes) return false;
  if (!step.write(bin.place.address, bin.values, static_cast<std::uint32_t>(bytes))) return false;
  bin.place.address += bytes;
  bin.place.room_bytes -= bytes;
  bin.waiting = 0;
  return true;
}

bool take(State& s, KernelStep& step, std::uint64_t value) {
  Bin& bin = s.bins[value >> s.call.shift & (s.call.partitions - 1)];
  ++s.values;
  ++bin.count;
  bin.values[bin.waiting++] = value;
  return bin.waiting < kValuesTogether || empty(bin, step);
}

KernelNext read_places(State& s, KernelStep& step) {
  const std::uint32_t some = std::min(s.call.partitions - s.known, kReadAtOnce);
  return step.read(s.call.partitions_at + s.known * sizeof(Partition),
                   static_cast<std::uint32_t>(some * sizeof(Partition)));
}

KernelNext on_places(State& s, KernelStep& step) {
  for (std::uint32_t at = 0; at < step.input_bytes; at += sizeof(Partition)) {
    std::memcpy(&s.bins[s.known++].place, step.input + at, sizeof(Partition));
  }
  return s.known < s.call.partitions ? read_places(s, step) : KernelNext::wait;
}

// Some partitions more; when all are empty, the answer.
KernelNext empty_some(State& s, KernelStep& step) {
  std::uint64_t counts[kEmptiedAtOnce];
  std::uint32_t n = 0;
  for (; n < kEmptiedAtOnce && s.emptied + n < s.call.partitions; ++n) {
    Bin& bin = s.bins[s.emptied + n];
    if (!empty(bin, step)) return KernelNext::failed;
    counts[n] = bin.count;
  }
  if (s.call.counts_to != 0 && !step.write(s.call.counts_to + s.emptied * kValue, counts, n * kValue))
    return KernelNext::failed;
  s.emptied += n;
  if (s.emptied < s.call.partitions) return KernelNext::again;
  const ShuffleAnswer answer{.values = s.values, .odd_bytes = s.pieces.kept()};
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
                                     [&](const std::byte* value) { return take(s, step, word_at(value)); });
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
