// Why bytecode is refused: one number, one name, one sentence and one test each (tests/bytecode). weft/bytecode.h has
// the same numbers for programs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::bytecode {

enum class BytecodeFault : std::uint32_t {
  none,
  // The object.
  object_too_large,
  object_unknown,
  object_truncated,
  object_no_section,
  object_many_sections,
  object_relocated,
  // Its instructions, one by one.
  too_long,
  empty,
  unknown_instruction,
  bad_register,
  bad_fields,
  frame_written,
  bad_operands,
  unknown_call,
  // How they follow each other.
  bad_jump,
  runs_off_the_end,
  loop,
  unreachable,
  too_many_ways,
  // What they do with values.
  undefined_register,
  undefined_stack,
  not_a_pointer,
  out_of_bounds,
  outside_of_stack,
  pointer_arithmetic,
  pointer_compared,
  pointer_stored,
  pointer_passed,
  pointer_returned,
  division_by_zero,
  // Beyond them.
  bad_limits,
  no_library,
  engine_refuses,
  count_,
};

struct FaultText {
  std::string_view name, meaning;
};

inline constexpr std::array<FaultText, static_cast<std::size_t>(BytecodeFault::count_)> kFaultTexts{{
    {"none", "nothing is wrong with it"},
    {"object_too_large", "the object is larger than 256 KB: compile without debug information"},
    {"object_unknown", "this is no object file of eBPF (ELF of 64 bits, little endian, machine 247)"},
    {"object_truncated", "the object ends before what it says it contains"},
    {"object_no_section", "the object has no section of this name, or none whose name begins with weft/"},
    {"object_many_sections", "the object has several sections whose names begin with weft/: say which"},
    {"object_relocated",
     "it refers to something outside of its section: functions that are not inlined, constants in memory and global "
     "variables are not there"},
    {"too_long", "it has more than 4096 instructions"},
    {"empty", "it has no instructions, or a part of one"},
    {"unknown_instruction",
     "there is no such instruction here: no atomics, nothing of 32 bits but loads, stores and swaps, no tests of bits, "
     "no packet loads; clang-14 makes none of them with -mcpu=v2"},
    {"bad_register", "there is no such register"},
    {"bad_fields", "the instruction has something in a field that it does not use"},
    {"frame_written", "it writes the frame pointer"},
    {"bad_operands", "it shifts by more bits than there are, or shifts or divides a register by itself"},
    {"unknown_call", "it calls something that a kernel cannot call"},
    {"bad_jump", "it jumps out of itself, or into the middle of an instruction"},
    {"runs_off_the_end", "it can run past its last instruction"},
    {"loop", "it jumps back to where it has been: a step has no loops, its state is its loop"},
    {"unreachable", "no way leads to this instruction"},
    {"too_many_ways", "there are too many ways through it to try them all: give the work to several steps"},
    {"undefined_register", "it uses a register that has no value, or not on every way"},
    {"undefined_stack", "it reads bytes of the stack that it did not write, or not on every way"},
    {"not_a_pointer", "it uses a number as an address: memory of the card's program is reached through the port"},
    {"out_of_bounds", "it may reach beyond the step's own memory: its head, its input and its state"},
    {"outside_of_stack", "it may reach beyond the 512 bytes of its stack, or at a place that is not known"},
    {"pointer_arithmetic", "it computes with a pointer other than by adding and subtracting numbers"},
    {"pointer_compared", "it compares a pointer with something that is none of the same memory"},
    {"pointer_stored", "it would write a pointer where others can read it"},
    {"pointer_passed", "it hands a pointer to the port where a number belongs"},
    {"pointer_returned", "it returns a pointer"},
    {"division_by_zero", "it may divide by zero"},
    {"bad_limits", "more state than 512 KB, or more instances or steps than there may be, or none"},
    {"no_library",
     "libweft_bytecode.so.1 is not installed, or does not load: build Weft where DPDK's librte-bpf is (scripts/"
     "bootstrap)"},
    {"engine_refuses", "DPDK's verifier refuses it"},
}};

constexpr const FaultText& text_of(BytecodeFault f) {
  return kFaultTexts[static_cast<std::size_t>(f) < kFaultTexts.size() ? static_cast<std::size_t>(f) : 0];
}

// What has been found out about some bytecode: the first thing that is wrong, and at which instruction.
struct BytecodeVerdict {
  BytecodeFault fault = BytecodeFault::none;
  std::uint32_t at = 0;
};

}  // namespace weft::bytecode
