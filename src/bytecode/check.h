// Whether a program may run as a kernel's step: that it ends, and that whatever its input is it reads what has a value,
// and reads and writes its own memory only. This is a check of our own before DPDK's, whose verifier of 22.11 takes
// some programs for good that are not: it looks at each slot of the stack as a whole, it does not follow the other way
// of a conditional jump that a program begins with, and some of its bounds are wrong.
#pragma once

#include <cstdint>
#include <span>

#include "bytecode/fault.h"
#include "bytecode/instruction.h"

namespace weft::bytecode {

// A program begins with register 1 pointing to `area_bytes` bytes that it may read and write, and ends with a number in
// register 0.
[[nodiscard]] BytecodeVerdict check_program(std::span<const Instruction> program, std::uint32_t area_bytes);

}  // namespace weft::bytecode
