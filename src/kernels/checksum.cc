#include "kernels/checksum.h"

#include <isa-l/crc64.h>

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelSent;
using nic::KernelStep;

struct State {
  bool begun = false;
  Outlet stream;
  ChecksumAnswer answer;
};

KernelNext on_call(State& s, KernelStep& step) {
  ChecksumCall call;
  if (step.input_bytes != sizeof call) return KernelNext::failed;
  std::memcpy(&call, step.input, sizeof call);
  if (call.ask == StreamAsk::begin) {
    s = State{.begun = true, .stream = call.stream, .answer = {}};
    return KernelNext::wait;
  }
  if (!s.begun || call.ask > StreamAsk::finish) return KernelNext::failed;
  if (!step.reply(&s.answer, sizeof s.answer)) return KernelNext::failed;
  return call.ask == StreamAsk::finish ? KernelNext::done : KernelNext::wait;
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  if (step.event == KernelEvent::call) return on_call(s, step);
  if (step.event != KernelEvent::payload || !s.begun) return KernelNext::failed;
  if (s.stream.address != 0) {
    const KernelSent sent = s.stream.put(step, step.input, step.input_bytes);
    if (sent != KernelSent::sent) return after(step, sent, 0);
  }
  const auto* bytes = static_cast<const unsigned char*>(static_cast<const void*>(step.input));
  s.answer.checksum = crc64_ecma_refl(s.answer.checksum, bytes, step.input_bytes);
  s.answer.bytes += step.input_bytes;
  return KernelNext::wait;
}

}  // namespace

nic::Kernel checksum_stream(std::uint32_t instances) {
  return {.opcode = kChecksum,
          .name = "checksum",
          .step = &on_step,
          .state_bytes = sizeof(State),
          .most_steps = 4,
          .instances = instances};
}

}  // namespace weft::kernels
