#include "kernels/filter.h"

#include "base/prefetch.h"

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelSent;
using nic::KernelStep;

// A packet's records, and those of a piece that was waiting, leave in as many steps if there is never room for more.
constexpr std::uint32_t kMostSteps = 16;
constexpr std::uint32_t kField = 8, kMostTogether = 2048;

struct State {
  FilterCall call;
  bool begun = false;
  FilterAnswer answer;
  Outlet matches;
  Pieces<kMostRecord> records;
  // Records that count leave many at a time.
  std::uint32_t waiting = 0;
  std::byte out[kMostTogether];
};

bool makes_sense(const FilterCall& c) {
  return c.record_bytes >= kField && c.record_bytes <= kMostRecord && c.field <= c.record_bytes - kField &&
         c.value <= c.record_bytes - kField;
}

KernelSent flush(State& s, KernelStep& step) {
  if (s.waiting == 0) return KernelSent::sent;
  const KernelSent sent = s.matches.put(step, s.out, s.waiting);
  if (sent == KernelSent::sent) s.waiting = 0;
  return sent;
}

// How many records were taken; `sent` says why not all.
std::size_t take_and_keep(State& s, KernelStep& step, const std::byte* record, std::size_t records, KernelSent& sent) {
  const FilterCall& c = s.call;
  FilterAnswer& a = s.answer;
  for (std::size_t i = 0; i < records; ++i, record += c.record_bytes) {
    const std::uint64_t field = word_at(record + c.field), value = word_at(record + c.value);
    if (field >= c.least && field <= c.most) {
      if (s.waiting + c.record_bytes > sizeof s.out) {
        sent = flush(s, step);
        if (sent != KernelSent::sent) return i;
      }
      std::memcpy(s.out + s.waiting, record, c.record_bytes);
      s.waiting += c.record_bytes;
      ++a.count;
      a.sum += value;
      a.least = std::min(a.least, value);
      a.most = std::max(a.most, value);
    }
    ++a.records;
  }
  return records;
}

// Without a branch that depends on the records. What comes next is fetched ahead: payload that another processor has
// written takes long to come, and there is little to do with each line.
void take(State& s, const std::byte* record, std::size_t records) {
  constexpr std::size_t kAhead = 1024;
  const FilterCall c = s.call;
  FilterAnswer a = s.answer;
  a.records += records;
  for (; records != 0; --records, record += c.record_bytes) {
    prefetch(record + kAhead);
    const std::uint64_t field = word_at(record + c.field), value = word_at(record + c.value);
    const std::uint64_t counts = (field >= c.least ? 1U : 0U) & (field <= c.most ? 1U : 0U), mask = 0 - counts;
    a.count += counts;
    a.sum += value & mask;
    a.least = std::min(a.least, value | ~mask);
    a.most = std::max(a.most, value & mask);
  }
  s.answer = a;
}

KernelNext on_call(State& s, KernelStep& step) {
  FilterCall call;
  if (step.input_bytes != sizeof call) return KernelNext::failed;
  std::memcpy(&call, step.input, sizeof call);
  if (call.ask == StreamAsk::begin) {
    if (!makes_sense(call)) return KernelNext::failed;
    s = State{};
    s.call = call;
    s.matches = call.matches;
    s.begun = true;
    return KernelNext::wait;
  }
  if (!s.begun || call.ask > StreamAsk::finish) return KernelNext::failed;
  if (const KernelSent sent = flush(s, step); sent != KernelSent::sent) return after(step, sent, 0);
  s.answer.odd_bytes = s.records.kept();
  if (!step.reply(&s.answer, sizeof s.answer)) return KernelNext::failed;
  return call.ask == StreamAsk::finish ? KernelNext::done : KernelNext::wait;
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::call) return on_call(s, step);
  if (step.event != KernelEvent::payload || !s.begun) return KernelNext::failed;
  KernelSent sent = KernelSent::sent;
  const std::size_t taken =
      s.records.take(step.input, step.input_bytes, s.call.record_bytes, [&](const std::byte* some, std::size_t n) {
        if (s.matches.address != 0) return take_and_keep(s, step, some, n, sent);
        take(s, some, n);
        return n;
      });
  return after(step, sent, taken);
}

}  // namespace

nic::Kernel filter(std::uint32_t instances) {
  return {.opcode = kFilter,
          .name = "filter",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = kMostSteps,
          .instances = instances};
}

}  // namespace weft::kernels
