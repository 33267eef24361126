#include "kernels/update.h"

#include <algorithm>
#include <cstring>

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

constexpr std::uint32_t kMostParameters = 4096;  // of one packet

struct State {
  UpdateCall call;
  std::byte expected_and_new[kMostParameters];
};

// What was read is the record itself, and not a copy.
KernelNext compare(const State& s, KernelStep& step) {
  const UpdateCall& c = s.call;
  const bool same = c.compared == 0 || std::memcmp(step.input, s.expected_and_new, c.compared) == 0;
  const UpdateAnswer answer{.is_updated = same ? 1U : 0U, .bytes = c.compared};
  if (!step.reply(&answer, sizeof answer) || !step.reply(step.input, c.compared)) return KernelNext::failed;
  if (same && !step.write(c.address, s.expected_and_new + c.compared, c.bytes)) return KernelNext::failed;
  return KernelNext::done;
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::data) return compare(s, step);
  if (step.event != KernelEvent::call || step.input_bytes < sizeof s.call) return KernelNext::failed;
  std::memcpy(&s.call, step.input, sizeof s.call);
  const std::uint32_t rest = step.input_bytes - sizeof s.call;
  if (s.call.compared > s.call.bytes || s.call.bytes == 0 || rest > kMostParameters ||
      rest - s.call.compared != s.call.bytes || rest < s.call.compared) {
    return KernelNext::failed;
  }
  std::memcpy(s.expected_and_new, step.input + sizeof s.call, rest);
  return step.read(s.call.address, s.call.bytes);
}

}  // namespace

nic::Kernel update(std::uint32_t instances) {
  return {.opcode = kUpdate,
          .name = "update",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = 4,
          .instances = instances};
}

}  // namespace weft::kernels
