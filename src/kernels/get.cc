#include "kernels/get.h"

#include <cstring>

#include "kernels/value.h"

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

struct State {
  std::uint64_t key = 0;
  Value value;
  bool found = false;
};
constexpr std::uint32_t kMostValueSteps = 0xFFFF / KernelStep::kMostRead + 1;

KernelNext look_at(State& s, KernelStep& step) {
  GetEntry entry;
  std::memcpy(&entry, step.input, sizeof entry);
  for (std::uint32_t i = 0; i < GetEntry::kBuckets; ++i) {
    if (entry.keys[i] != s.key) continue;
    s.found = true;
    s.value = {entry.values[i] & (~std::uint64_t{0} >> 16), static_cast<std::uint32_t>(entry.values[i] >> 48)};
    return s.value.read(step);
  }
  return entry.next == 0 ? KernelNext::done : step.read(entry.next, sizeof entry);
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::call) {
    GetCall call;
    if (step.input_bytes != sizeof call) return KernelNext::failed;
    std::memcpy(&call, step.input, sizeof call);
    if (call.key == 0) return KernelNext::failed;
    s.key = call.key;
    return step.read(call.entry, sizeof(GetEntry));
  }
  if (step.event != KernelEvent::data) return KernelNext::failed;
  if (!s.found) return look_at(s, step);
  return s.value.answer(step);
}

}  // namespace

nic::Kernel get(std::uint32_t most_entries, std::uint32_t instances) {
  return {.opcode = kGet,
          .name = "get",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = most_entries + 1 + kMostValueSteps,
          .instances = instances};
}

}  // namespace weft::kernels
