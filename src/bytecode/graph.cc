#include "bytecode/graph.h"

#include <algorithm>

namespace weft::bytecode {
namespace {

bool is_long(std::span<const Instruction> program, std::uint32_t at) {
  const Instruction& first = program[at];
  if (first.from() != 0 || first.offset != 0 || at + 1 == program.size()) return false;
  const Instruction& second = program[at + 1];
  return second.code == 0 && second.registers == 0 && second.offset == 0;
}

// DPDK's compiler for x86-64 gets some instructions wrong (tests/bytecode/agreement_test.cc looks for such). They are
// refused, for the interpreter as well: a division of 32 bits cuts register 0 in half; where a register is shifted or
// divided by itself, another one is. Nor does DPDK's interpreter cut off what does not fit where a number is to become
// one of little endian. clang makes none of them, and nothing else of 32 bits, with -mcpu=v2.
BytecodeFault check_alu(const Instruction& i) {
  const bool swaps = i.operation() == alu::swap;
  if (i.to() == kFramePointer) return BytecodeFault::frame_written;
  if (i.offset != 0) return BytecodeFault::bad_fields;
  if (swaps != (i.group() == group::alu32)) return BytecodeFault::unknown_instruction;
  if (swaps) {
    if (!i.takes_register()) return BytecodeFault::unknown_instruction;  // to little endian
    const bool known = i.immediate == 16 || i.immediate == 32 || i.immediate == 64;
    return i.from() == 0 && known ? BytecodeFault::none : BytecodeFault::bad_fields;
  }
  if (i.operation() > alu::arsh) return BytecodeFault::unknown_instruction;
  if (i.operation() == alu::neg) {
    if (i.takes_register()) return BytecodeFault::unknown_instruction;
    return i.from() == 0 && i.immediate == 0 ? BytecodeFault::none : BytecodeFault::bad_fields;
  }
  const bool shifts = i.operation() == alu::lsh || i.operation() == alu::rsh || i.operation() == alu::arsh;
  const bool divides = i.operation() == alu::div || i.operation() == alu::mod;
  if (i.takes_register()) {
    if ((shifts || divides) && i.to() == i.from()) return BytecodeFault::bad_operands;
    return i.immediate == 0 ? BytecodeFault::none : BytecodeFault::bad_fields;
  }
  if (i.from() != 0) return BytecodeFault::bad_fields;
  if (shifts && (i.immediate < 0 || i.immediate >= 64)) return BytecodeFault::bad_operands;
  return divides && i.immediate == 0 ? BytecodeFault::division_by_zero : BytecodeFault::none;
}

BytecodeFault check_jump(const Instruction& i) {
  switch (i.operation()) {
    case jump::call:
      if (i.takes_register()) return BytecodeFault::unknown_instruction;
      if (i.to() != 0 || i.offset != 0) return BytecodeFault::bad_fields;
      return i.from() == 0 && port::has(i.immediate) ? BytecodeFault::none : BytecodeFault::unknown_call;
    case jump::exit:
    case jump::always:
      if (i.takes_register()) return BytecodeFault::unknown_instruction;
      if (i.registers != 0 || i.immediate != 0) return BytecodeFault::bad_fields;
      return i.operation() == jump::exit && i.offset != 0 ? BytecodeFault::bad_fields : BytecodeFault::none;
    default: break;
  }
  // With a number below 128, DPDK's compiler for x86-64 makes a test of one byte of it, where the processor takes four:
  // what comes next would run as other instructions.
  if (i.operation() == jump::set) return BytecodeFault::unknown_instruction;
  if (i.operation() > jump::sle) return BytecodeFault::unknown_instruction;
  if (i.takes_register()) return i.immediate == 0 ? BytecodeFault::none : BytecodeFault::bad_fields;
  return i.from() == 0 ? BytecodeFault::none : BytecodeFault::bad_fields;
}

BytecodeFault check_one(const Instruction& i) {
  if (i.to() >= kRegisters || i.from() >= kRegisters) return BytecodeFault::bad_register;
  switch (i.group()) {
    case group::alu32:
    case group::alu64: return check_alu(i);
    case group::jump: return check_jump(i);
    case group::load:
      if ((i.code & 0xE0) != kMemory) return BytecodeFault::unknown_instruction;
      if (i.to() == kFramePointer) return BytecodeFault::frame_written;
      return i.immediate == 0 ? BytecodeFault::none : BytecodeFault::bad_fields;
    case group::store:
      if ((i.code & 0xE0) != kMemory) return BytecodeFault::unknown_instruction;
      return i.immediate == 0 ? BytecodeFault::none : BytecodeFault::bad_fields;
    case group::store_immediate:
      if ((i.code & 0xE0) != kMemory) return BytecodeFault::unknown_instruction;
      return i.from() == 0 ? BytecodeFault::none : BytecodeFault::bad_fields;
    default: return BytecodeFault::unknown_instruction;
  }
}

// Depth first, without recursion: who wrote the program decides how deep it is.
class Sorter {
 public:
  Sorter(std::span<const Instruction> program, std::vector<std::uint32_t>& order)
      : program_(program), order_(order), seen_(program.size()) {}

  BytecodeVerdict run() {
    enter(0);
    while (!path_.empty()) {
      Stop& stop = path_.back();
      const Followers next = followers_of(program_, stop.at);
      if (stop.taken == next.count) {
        seen_[stop.at] = Seen::left;
        order_.push_back(stop.at);
        path_.pop_back();
        continue;
      }
      const std::uint32_t to = next.at[stop.taken++];
      if (seen_[to] == Seen::entered) return {BytecodeFault::loop, stop.at};
      if (seen_[to] == Seen::never) enter(to);
    }
    for (std::uint32_t at = 0; at < program_.size(); at += program_[at].code == kLoadLong ? 2 : 1) {
      if (seen_[at] == Seen::never) return {BytecodeFault::unreachable, at};
    }
    std::reverse(order_.begin(), order_.end());
    return {};
  }

 private:
  enum class Seen : std::uint8_t { never, entered, left };
  struct Stop {
    std::uint32_t at = 0, taken = 0;
  };
  void enter(std::uint32_t at) {
    seen_[at] = Seen::entered;
    path_.push_back({at, 0});
  }

  std::span<const Instruction> program_;
  std::vector<std::uint32_t>& order_;
  std::vector<Seen> seen_;
  std::vector<Stop> path_;
};

// How often all ways together come by each instruction.
BytecodeVerdict count_visits(std::span<const Instruction> program, std::span<const std::uint32_t> order) {
  std::vector<std::uint64_t> visits(program.size());
  std::uint64_t all = 0;
  visits[0] = 1;
  for (const std::uint32_t at : order) {
    all += visits[at];
    if (all > kMostVisits) return {BytecodeFault::too_many_ways, at};
    const Followers next = followers_of(program, at);
    for (std::uint32_t n = 0; n < next.count; ++n) visits[next.at[n]] += visits[at];
  }
  return {};
}

}  // namespace

BytecodeVerdict check_instructions(std::span<const Instruction> program) {
  if (program.empty()) return {BytecodeFault::empty};
  if (program.size() > kMostInstructions) return {BytecodeFault::too_long};
  std::vector<bool> begins(program.size());
  for (std::uint32_t at = 0; at < program.size(); ++at) {
    begins[at] = true;
    const Instruction& i = program[at];
    if (i.code == kLoadLong) {
      if (i.to() > kFramePointer) return {BytecodeFault::bad_register, at};
      if (i.to() == kFramePointer) return {BytecodeFault::frame_written, at};
      if (!is_long(program, at)) return {BytecodeFault::bad_fields, at};
      ++at;
      continue;
    }
    if (const BytecodeFault f = check_one(i); f != BytecodeFault::none) return {f, at};
  }
  for (std::uint32_t at = 0; at < program.size(); at += program[at].code == kLoadLong ? 2 : 1) {
    const Followers next = followers_of(program, at);
    const bool jumps = program[at].group() == group::jump && program[at].operation() != jump::call;
    for (std::uint32_t n = 0; n < next.count; ++n) {
      const bool by_jump = jumps && (n == 1 || next.count == 1);
      if (next.at[n] >= program.size())
        return {by_jump ? BytecodeFault::bad_jump : BytecodeFault::runs_off_the_end, at};
      if (!begins[next.at[n]]) return {BytecodeFault::bad_jump, at};
    }
  }
  return {};
}

BytecodeVerdict sort_instructions(std::span<const Instruction> program, std::vector<std::uint32_t>& order) {
  order.clear();
  order.reserve(program.size());
  if (const BytecodeVerdict v = Sorter(program, order).run(); v.fault != BytecodeFault::none) return v;
  return count_visits(program, order);
}

}  // namespace weft::bytecode
