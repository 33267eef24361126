// Which instructions are well formed, and which may follow which. A step has no loops: there is an order in which each
// instruction stands before all that may follow it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/fault.h"
#include "bytecode/instruction.h"

namespace weft::bytecode {

// The most instructions that DPDK's verifier may have to look at: it walks every way through the program, and ways
// double with every branch.
inline constexpr std::uint64_t kMostVisits = 1U << 17;

// Each instruction by itself.
[[nodiscard]] BytecodeVerdict check_instructions(std::span<const Instruction> program);

// Where a well-formed instruction may lead.
struct Followers {
  std::uint32_t count = 0, at[2] = {};  // the jump's target last
};
[[nodiscard]] inline Followers followers_of(std::span<const Instruction> program, std::uint32_t at) {
  const Instruction& i = program[at];
  if (i.code == kLoadLong) return {1, {at + 2, 0}};
  if (i.group() != group::jump || i.operation() == jump::call) return {1, {at + 1, 0}};
  const auto target = static_cast<std::uint32_t>(static_cast<std::int64_t>(at) + 1 + i.offset);
  if (i.operation() == jump::exit) return {};
  if (i.operation() == jump::always) return {1, {target, 0}};
  return {2, {at + 1, target}};
}

// An order in which all that is behind an instruction comes after it. Everything is reached.
[[nodiscard]] BytecodeVerdict sort_instructions(std::span<const Instruction> program,
                                                std::vector<std::uint32_t>& order);

}  // namespace weft::bytecode
