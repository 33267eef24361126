#include "kernels/get.h"

#include <algorithm>
#include <cstring>

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

struct State {
  std::uint64_t key = 0, value = 0;  // the rest of it
  std::uint32_t left = 0;
  bool found = false;
};
constexpr std::uint32_t kMostValueSteps = 0xFFFF / KernelStep::kMostRead + 1;

KernelNext read_value(State& s, KernelStep& step) {
  return s.left == 0 ? KernelNext::done : step.read(s.value, std::min(s.left, KernelStep::kMostRead));
}

KernelNext look_at(State& s, KernelStep& step) {
  GetEntry entry;
  std::memcpy(&entry, step.input, sizeof entry);
  for (std::uint32_t i = 0; i < GetEntry::kBuckets; ++i) {
    if (entry.keys[i] != s.key) continue;
    s.found = true;
    s.value = entry.values[i] & (~std::uint64_t{0} >> 16);
    s.left = static_cast<std::uint32_t>(entry.values[i] >> 48);
    return read_value(s, step);
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
  if (!step.reply(step.input, step.input_bytes)) return KernelNext::failed;
  s.value += step.input_bytes;
  s.left -= step.input_bytes;
  return read_value(s, step);
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
