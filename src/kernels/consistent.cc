#include "kernels/consistent.h"

#include <algorithm>
#include <cstring>

#include <isa-l/crc64.h>

namespace weft::kernels {
namespace {

using nic::KernelEvent;
using nic::KernelNext;
using nic::KernelStep;

constexpr std::uint32_t kChecksumBytes = 8;

// The copy follows.
struct State {
  ConsistentCall call;
  std::uint32_t here = 0, told = 0;  // bytes that have been read, and answered
};

KernelNext read_more(State& s, KernelStep& step) {
  return step.read(s.call.address + s.here, std::min(s.call.bytes - s.here, KernelStep::kMostRead));
}

// Never straight from memory, which may change again.
KernelNext answer(State& s, const std::byte* copy, KernelStep& step) {
  const std::uint32_t bytes = std::min(s.call.bytes - kChecksumBytes - s.told, KernelStep::kMostReply);
  if (!step.reply(copy + s.told, bytes)) return KernelNext::failed;
  s.told += bytes;
  return s.told + kChecksumBytes == s.call.bytes ? KernelNext::done : KernelNext::again;
}

KernelNext on_step(KernelStep& step) {
  State& s = nic::state_of<State>(step);
  std::byte* const copy = step.state + sizeof(State);
  switch (step.event) {
    case KernelEvent::call:
      if (step.input_bytes != sizeof s.call) return KernelNext::failed;
      std::memcpy(&s.call, step.input, sizeof s.call);
      if (s.call.bytes < kChecksumBytes || s.call.bytes > kMostObject || s.call.tries == 0) return KernelNext::failed;
      return read_more(s, step);
    case KernelEvent::data: {
      std::memcpy(copy + s.here, step.input, step.input_bytes);
      s.here += step.input_bytes;
      if (s.here != s.call.bytes) return read_more(s, step);
      std::uint64_t expected = 0;
      std::memcpy(&expected, copy + s.here - kChecksumBytes, kChecksumBytes);
      if (checksum({copy, s.here - kChecksumBytes}) == expected) return answer(s, copy, step);
      if (--s.call.tries == 0) return KernelNext::failed;
      s.here = 0;
      return read_more(s, step);
    }
    case KernelEvent::again: return answer(s, copy, step);
    case KernelEvent::payload: break;
  }
  return KernelNext::failed;
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return crc64_ecma_refl(0, static_cast<const unsigned char*>(static_cast<const void*>(bytes.data())), bytes.size());
}

nic::Kernel consistent(std::uint32_t instances) {
  return {.opcode = kConsistent,
          .name = "consistent",
          .step = &on_step,
          .state_bytes = sizeof(State) + kMostObject,
          .most_steps = 100'000,
          .instances = instances};
}

}  // namespace weft::kernels
