// The memory of a bytecode kernel's instance: all that its steps can reach. It is what weft/kernel.h calls a step when
// it is compiled for eBPF: the head, the input, and behind it the kernel's own state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nic/kernels/kernel.h"

namespace weft::bytecode {

struct Area {
  std::uint32_t event = 0, qpn = 0, input_bytes = 0;
  std::uint8_t last = 0, is_local = 0, unused[2] = {};
  std::uint64_t offset = 0, opcode = 0, read_address = 0;
  std::uint32_t read_bytes = 0, taken = 0;
  std::byte small[64] = {};  // what is written, answered or sent goes through here, if it is not longer
  std::byte input[nic::KernelStep::kMostRead] = {};
  // The state follows.
};
static_assert(sizeof(Area) == 4208 && sizeof(Area) % 16 == 0 && offsetof(Area, input) == 112);

inline constexpr std::uint32_t kMostState = 512 * 1024;
// What a step may hand to its port altogether: with it, and with the length of the program, a step has an end in time.
inline constexpr std::uint32_t kMostMoved = 64 * 1024;

}  // namespace weft::bytecode
