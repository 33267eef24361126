#include "kernels/filter.h"

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

constexpr std::uint32_t kField = 8;

struct State {
  FilterCall call;
  bool begun = false;
  FilterAnswer answer;
  std::uint64_t written = 0;
  Pieces<kMostRecord> records;
  // Records that count leave many at a time.
  std::uint32_t waiting = 0;
  std::byte out[1024];
};

bool makes_sense(const FilterCall& c) {
  return c.record_bytes >= kField && c.record_bytes <= kMostRecord && c.field <= c.record_bytes - kField &&
         c.value <= c.record_bytes - kField;
}

bool flush(State& s, KernelStep& step) {
  if (s.waiting == 0) return true;
  if (s.waiting > s.call.room_bytes - s.written) return false;
  if (!step.write(s.call.address + s.written, s.out, s.waiting)) return false;
  s.written += s.waiting;
  s.waiting = 0;
  return true;
}

bool keep(State& s, KernelStep& step, const std::byte* record) {
  if (s.waiting + s.call.record_bytes > sizeof s.out && !flush(s, step)) return false;
  std::memcpy(s.out + s.waiting, record, s.call.record_bytes);
  s.waiting += s.call.record_bytes;
  return true;
}

bool take(State& s, KernelStep& step, const std::byte* record, std::size_t records) {
  const FilterCall c = s.call;
  FilterAnswer a = s.answer;
  bool has_room = true;
  for (; records != 0 && has_room; --records, record += c.record_bytes) {
    ++a.records;
    const std::uint64_t field = word_at(record + c.field);
    if (field < c.least || field > c.most) continue;
    const std::uint64_t value = word_at(record + c.value);
    ++a.count;
    a.sum += value;
    a.least = std::min(a.least, value);
    a.most = std::max(a.most, value);
    if (c.address != 0) has_room = keep(s, step, record);
  }
  s.answer = a;
  return has_room;
}

KernelNext on_call(State& s, KernelStep& step) {
  FilterCall call;
  if (step.input_bytes != sizeof call) return KernelNext::failed;
  std::memcpy(&call, step.input, sizeof call);
  if (call.ask == StreamAsk::begin) {
    if (!makes_sense(call)) return KernelNext::failed;
    s = State{};
    s.call = call;
    s.begun = true;
    return KernelNext::wait;
  }
  if (!s.begun || call.ask > StreamAsk::finish || !flush(s, step)) return KernelNext::failed;
  s.answer.odd_bytes = s.records.kept();
  if (!step.reply(&s.answer, sizeof s.answer)) return KernelNext::failed;
  return call.ask == StreamAsk::finish ? KernelNext::done : KernelNext::wait;
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::call) return on_call(s, step);
  if (step.event != KernelEvent::payload || !s.begun) return KernelNext::failed;
  const bool goes_on = s.records.take(step.input, step.input_bytes, s.call.record_bytes,
                                      [&](const std::byte* some, std::size_t n) { return take(s, step, some, n); });
  return goes_on ? KernelNext::wait : KernelNext::failed;
}

}  // namespace

nic::Kernel filter(std::uint32_t instances) {
  return {.opcode = kFilter,
          .name = "filter",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = 2,
          .instances = instances};
}

}  // namespace weft::kernels
