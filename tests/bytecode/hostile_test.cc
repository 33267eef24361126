// The corpus of programs that must not run, each with the reason that its author is told. tests/fuzz/bytecode_fuzz has
// them as files, too.
#include <string>

#include <gtest/gtest.h>

#include "bytecode/assembly.h"
#include "bytecode/check.h"
#include "bytecode/engine.h"
#include "bytecode/graph.h"

namespace weft::bytecode {
namespace {

using namespace assembly;

constexpr std::uint32_t kArea = 4208 + 64;

struct Hostile {
  const char* name;
  BytecodeFault fault;
  Listing program;
};

const Listing kReadsEverything{load(1, 0, 1, 0), leave()};

// What an instruction is, and where it leads.
std::vector<Hostile> hostile_shapes() {
  return {
      {"no_instruction", BytecodeFault::empty, {}},
      {"loop_without_end", BytecodeFault::loop, {mov(0, 0), go(-2), leave()}},
      {"loop_that_counts", BytecodeFault::loop, {mov(0, 9), op(alu::sub, 0, 1), jump_if(jump::ne, 0, 0, -2), leave()}},
      {"jump_to_itself", BytecodeFault::loop, {mov(0, 0), jump_if(jump::eq, 0, 0, -1), leave()}},
      {"jump_before_the_begin", BytecodeFault::bad_jump, {mov(0, 0), go(-3), leave()}},
      {"jump_past_the_end", BytecodeFault::bad_jump, {mov(0, 0), jump_if(jump::eq, 0, 0, 100), leave()}},
      {"jump_into_a_long_instruction",
       BytecodeFault::bad_jump,
       {mov(0, 0), jump_if(jump::eq, 0, 0, 1), raw(kLoadLong, 2, 0, 0, 1), raw(0, 0, 0, 0, 0), leave()}},
      {"no_exit", BytecodeFault::runs_off_the_end, {mov(0, 0)}},
      {"code_behind_the_exit", BytecodeFault::unreachable, {mov(0, 0), leave(), mov(0, 1), leave()}},
      {"half_a_long_instruction", BytecodeFault::bad_fields, {raw(kLoadLong, 0, 0, 0, 1)}},
      {"long_instruction_that_names_a_map",
       BytecodeFault::bad_fields,
       {raw(kLoadLong, 0, 1, 0, 1), raw(0, 0, 0, 0, 0), leave()}},
      {"unknown_code", BytecodeFault::unknown_instruction, {raw(0xFF, 0, 0, 0, 0), leave()}},
      {"atomic_add", BytecodeFault::unknown_instruction, {mov(0, 1), raw(0xDB, 1, 0, 0, 0), leave()}},
      {"packet_load", BytecodeFault::unknown_instruction, {raw(0x30, 0, 0, 0, 0), leave()}},
      {"jump_of_32_bits", BytecodeFault::unknown_instruction, {mov(0, 0), raw(0x16, 0, 0, 0, 0), leave()}},
      {"register_12", BytecodeFault::bad_register, {mov(12, 0), leave()}},
      {"number_in_an_unused_field", BytecodeFault::bad_fields, {raw(0xBF, 0, 1, 0, 7), leave()}},
      {"frame_pointer_moved", BytecodeFault::frame_written, {op(alu::add, 10, 8), mov(0, 0), leave()}},
      {"frame_pointer_loaded", BytecodeFault::frame_written, {load(8, 10, 1, 0), mov(0, 0), leave()}},
      {"shift_by_64", BytecodeFault::bad_operands, {mov(0, 1), op(alu::lsh, 0, 64), leave()}},
      {"shift_by_less_than_nothing", BytecodeFault::bad_operands, {mov(0, 1), op(alu::rsh, 0, -1), leave()}},
      {"shift_by_itself", BytecodeFault::bad_operands, {load(8, 2, 1, 0), op_reg(alu::rsh, 2, 2), mov(0, 0), leave()}},
      {"to_little_endian", BytecodeFault::unknown_instruction, {mov(0, 1), raw(0xD4, 0, 0, 0, 16), leave()}},
      {"test_of_bits", BytecodeFault::unknown_instruction, {mov(0, 0), jump_if(jump::set, 0, 1, 0), leave()}},
      {"wild_call", BytecodeFault::unknown_call, {call(77), leave()}},
      {"call_behind_the_last", BytecodeFault::unknown_call, {call(port::send + 1), leave()}},
      {"call_of_an_address", BytecodeFault::unknown_call, {call(-1), leave()}},
      {"call_of_a_function", BytecodeFault::unknown_call, {raw(0x85, 0, 1, 0, 1), leave()}},
      {"division_by_zero", BytecodeFault::division_by_zero, {mov(0, 1), op(alu::div, 0, 0), leave()}},
      {"division_by_input",
       BytecodeFault::division_by_zero,
       {mov(0, 1), load(8, 2, 1, 0), op_reg(alu::div, 0, 2), leave()}},
      {"rest_of_32_bits",
       BytecodeFault::unknown_instruction,
       {mov(0, 1), mov(2, 3), op32_reg(alu::mod, 0, 2), leave()}},
      {"division_by_itself", BytecodeFault::bad_operands, {mov(0, 1), op_reg(alu::div, 0, 0), leave()}},
  };
}

// Values that are not there, and memory that is not the program's.
std::vector<Hostile> hostile_memory() {
  return {
      {"register_without_a_value", BytecodeFault::undefined_register, {mov_reg(0, 3), leave()}},
      {"register_that_has_one_on_one_way_only",
       BytecodeFault::undefined_register,
       {load(8, 2, 1, 0), jump_if(jump::eq, 2, 0, 1), mov(3, 1), mov_reg(0, 3), leave()}},
      {"no_result", BytecodeFault::undefined_register, {mov(2, 0), leave()}},
      {"register_that_a_call_has_used",
       BytecodeFault::undefined_register,
       {mov_reg(6, 1), mov(1, 0), mov(2, 0), mov(3, 0), call(port::reply), load(8, 0, 1, 0), leave()}},
      {"send_without_a_length",
       BytecodeFault::undefined_register,
       {mov(1, 0), mov(2, 0), mov(3, 0), mov(4, 0), call(port::send), leave()}},
      {"answer_of_a_send_as_a_place",  // 0 ... 2, and two bytes there are behind that
       BytecodeFault::out_of_bounds,
       {mov_reg(6, 1), mov(1, 0), mov(2, 0), mov(3, 0), mov(4, 0), mov(5, 0), call(port::send), op_reg(alu::add, 6, 0),
        load(1, 0, 6, kArea - 2), leave()}},
      {"stack_before_it_is_written", BytecodeFault::undefined_stack, {load(8, 0, 10, -8), leave()}},
      {"the_other_half_of_a_slot",
       BytecodeFault::undefined_stack,
       {store_number(4, 10, -8, 1), load(4, 0, 10, -4), leave()}},
      {"stack_that_is_written_on_one_way_only",
       BytecodeFault::undefined_stack,
       {load(8, 2, 1, 0), jump_if(jump::eq, 2, 0, 1), store_number(8, 10, -8, 1), load(8, 0, 10, -8), leave()}},
      {"below_the_stack", BytecodeFault::outside_of_stack, {store_number(8, 10, -520, 1), mov(0, 0), leave()}},
      {"above_the_stack", BytecodeFault::outside_of_stack, {store_number(8, 10, 0, 1), mov(0, 0), leave()}},
      {"somewhere_on_the_stack",
       BytecodeFault::out_of_bounds,
       {load(1, 2, 1, 0), mov_reg(3, 10), op_reg(alu::sub, 3, 2), store_number(1, 3, -8, 1), mov(0, 0), leave()}},
      {"before_the_area", BytecodeFault::out_of_bounds, {load(8, 0, 1, -8), leave()}},
      {"behind_the_area", BytecodeFault::out_of_bounds, {load(8, 0, 1, kArea - 7), leave()}},
      {"where_the_input_says",
       BytecodeFault::out_of_bounds,
       {load(8, 2, 1, 0), op_reg(alu::add, 1, 2), load(1, 0, 1, 0), leave()}},
      {"one_byte_too_far",
       BytecodeFault::out_of_bounds,
       {load(8, 2, 1, 0), jump_if(jump::gt, 2, kArea - 7, 3), op_reg(alu::add, 1, 2), load(8, 0, 1, 0), leave(),
        mov(0, 0), leave()}},
      {"checked_with_a_sign_used_without",
       BytecodeFault::out_of_bounds,
       {load(8, 2, 1, 0), jump_if(jump::sgt, 2, 100, 3), op_reg(alu::add, 1, 2), load(8, 0, 1, 0), leave(), mov(0, 0),
        leave()}},
  };
}

std::vector<Hostile> hostile_pointers() {
  return {
      {"a_number_as_a_pointer", BytecodeFault::not_a_pointer, {mov(2, 4096), load(8, 0, 2, 0), leave()}},
      {"a_pointer_from_the_input",
       BytecodeFault::not_a_pointer,
       {load(8, 2, 1, 112), store_number(8, 2, 0, 1), leave()}},
      {"pointer_times_two", BytecodeFault::pointer_arithmetic, {mov_reg(0, 1), op(alu::mul, 0, 2), leave()}},
      {"half_a_pointer", BytecodeFault::unknown_instruction, {op32_reg(alu::mov, 0, 1), leave()}},
      {"bytes_of_a_pointer", BytecodeFault::pointer_arithmetic, {store(8, 10, -8, 1), load(4, 0, 10, -8), leave()}},
      {"area_less_stack", BytecodeFault::pointer_arithmetic, {mov_reg(0, 1), op_reg(alu::sub, 0, 10), leave()}},
      {"pointer_compared_with_a_number",
       BytecodeFault::pointer_compared,
       {mov(0, 0), jump_if(jump::gt, 1, 0x7FFFFFFF, 1), mov(0, 1), leave()}},
      {"pointer_returned", BytecodeFault::pointer_returned, {mov_reg(0, 1), leave()}},
      {"pointer_stored", BytecodeFault::pointer_stored, {store(8, 1, 112, 1), mov(0, 0), leave()}},
      {"stack_pointer_stored", BytecodeFault::pointer_stored, {store(8, 1, 112, 10), mov(0, 0), leave()}},
      {"half_a_pointer_stored", BytecodeFault::pointer_stored, {store(4, 10, -8, 1), load(4, 0, 10, -8), leave()}},
      {"pointer_to_the_port",
       BytecodeFault::pointer_passed,
       {mov(2, 8), mov(3, 0), call(port::reply), mov(0, 0), leave()}},
      {"pointer_as_the_last_number_of_a_send",
       BytecodeFault::pointer_passed,
       {mov_reg(5, 1), mov(1, 0), mov(2, 0), mov(3, 0), mov(4, 0), call(port::send), leave()}},
      {"number_on_one_way_and_pointer_on_the_other",
       BytecodeFault::undefined_register,
       {mov(3, 0), load(8, 2, 1, 0), jump_if(jump::eq, 2, 0, 1), mov_reg(3, 1), mov_reg(0, 3), leave()}},
  };
}

std::vector<Hostile> hostile_programs() {
  std::vector<Hostile> all;
  for (const auto& some : {hostile_shapes(), hostile_memory(), hostile_pointers()})
    all.insert(all.end(), some.begin(), some.end());
  Listing huge(kMostInstructions, mov(0, 0));
  huge.push_back(leave());
  all.push_back({"huge", BytecodeFault::too_long, huge});
  // Twenty forks, a million ways.
  Listing forks{load(8, 2, 1, 0), mov(0, 0)};
  for (int n = 0; n < 20; ++n) {
    forks.push_back(jump_if(jump::eq, 2, 1 << n, 1));
    forks.push_back(op(alu::add, 0, 1 << n));
  }
  forks.push_back(leave());
  all.push_back({"a_million_ways", BytecodeFault::too_many_ways, forks});
  return all;
}

TEST(HostileBytecode, IsRefusedEachForItsReason) {
  for (const Hostile& h : hostile_programs()) {
    const BytecodeVerdict v = check_program(h.program, kArea);
    EXPECT_EQ(text_of(v.fault).name, text_of(h.fault).name) << h.name << " at " << v.at;
  }
}

TEST(HostileBytecode, HasAReasonForEachThatCanBeFoundInAProgram) {
  std::vector<bool> seen(static_cast<std::size_t>(BytecodeFault::count_));
  for (const Hostile& h : hostile_programs()) seen[static_cast<std::size_t>(h.fault)] = true;
  for (auto f = static_cast<std::size_t>(BytecodeFault::too_long);
       f <= static_cast<std::size_t>(BytecodeFault::division_by_zero); ++f)
    EXPECT_TRUE(seen[f]) << text_of(static_cast<BytecodeFault>(f)).name;
}

TEST(Bytecode, ThatDoesNothingWrongIsNotRefused) {
  const Listing fine[] = {
      kReadsEverything,
      // The last eight bytes, and where the input says if that was checked.
      {load(8, 0, 1, kArea - 8), leave()},
      {load(8, 2, 1, 0), jump_if(jump::gt, 2, kArea - 8, 3), op_reg(alu::add, 1, 2), load(8, 0, 1, 0), leave(),
       mov(0, 0), leave()},
      {load(8, 2, 1, 0), op(alu::bit_and, 2, 63), op_reg(alu::add, 1, 2), load(1, 0, 1, 112), leave()},
      // A pointer that was kept on the stack.
      {store(8, 10, -8, 1), load(8, 2, 10, -8), load(8, 0, 2, 0), leave()},
      // How far apart two pointers are.
      {mov_reg(2, 1), op(alu::add, 2, 112), op_reg(alu::sub, 2, 1), mov_reg(0, 2), leave()},
      // A division, behind a check.
      {mov(0, 7), load(8, 2, 1, 0), jump_if(jump::eq, 2, 0, 1), op_reg(alu::div, 0, 2), leave()},
      // A jump back that is no loop.
      {mov(0, 0), go(1), leave(), mov(0, 1), go(-3)},
      {mov(1, 0), mov(2, 8), mov(3, 0), call(port::reply), leave()},
      // What a send answers is 0 ... 2.
      {mov_reg(6, 1), mov(1, 0), mov(2, 0), mov(3, 0), mov(4, 0), mov(5, 0), call(port::send), op_reg(alu::add, 6, 0),
       load(1, 0, 6, kArea - 3), leave()},
  };
  for (const Listing& program : fine) {
    const BytecodeVerdict v = check_program(program, kArea);
    EXPECT_EQ(text_of(v.fault).name, "none") << v.at << " of " << &program - fine;
  }
}

}  // namespace
}  // namespace weft::bytecode
