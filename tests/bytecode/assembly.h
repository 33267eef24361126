// Programs of eBPF, written by hand: one function for each kind of instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "bytecode/instruction.h"

namespace weft::bytecode::assembly {

using Listing = std::vector<Instruction>;

constexpr std::uint8_t registers(std::uint32_t to, std::uint32_t from) {
  return static_cast<std::uint8_t>(to | from << 4);
}
constexpr Instruction raw(std::uint8_t code, std::uint32_t to, std::uint32_t from, std::int16_t offset,
                          std::int32_t immediate) {
  return {code, registers(to, from), offset, immediate};
}
// 64 bits, with a number or a register.
constexpr Instruction op(std::uint8_t operation, std::uint32_t to, std::int32_t number) {
  return raw(static_cast<std::uint8_t>(operation | group::alu64), to, 0, 0, number);
}
constexpr Instruction op_reg(std::uint8_t operation, std::uint32_t to, std::uint32_t from) {
  return raw(static_cast<std::uint8_t>(operation | group::alu64 | 8), to, from, 0, 0);
}
constexpr Instruction op32_reg(std::uint8_t operation, std::uint32_t to, std::uint32_t from) {
  return raw(static_cast<std::uint8_t>(operation | group::alu32 | 8), to, from, 0, 0);
}
constexpr Instruction mov(std::uint32_t to, std::int32_t number) { return op(alu::mov, to, number); }
constexpr Instruction mov_reg(std::uint32_t to, std::uint32_t from) { return op_reg(alu::mov, to, from); }
constexpr std::uint8_t size_code(std::uint32_t bytes) {
  return bytes == 1 ? 0x10 : bytes == 2 ? 0x08 : bytes == 4 ? 0x00 : 0x18;
}
constexpr Instruction load(std::uint32_t bytes, std::uint32_t to, std::uint32_t from, std::int16_t offset) {
  return raw(static_cast<std::uint8_t>(group::load | kMemory | size_code(bytes)), to, from, offset, 0);
}
constexpr Instruction store(std::uint32_t bytes, std::uint32_t to, std::int16_t offset, std::uint32_t from) {
  return raw(static_cast<std::uint8_t>(group::store | kMemory | size_code(bytes)), to, from, offset, 0);
}
constexpr Instruction store_number(std::uint32_t bytes, std::uint32_t to, std::int16_t offset, std::int32_t number) {
  return raw(static_cast<std::uint8_t>(group::store_immediate | kMemory | size_code(bytes)), to, 0, offset, number);
}
constexpr Instruction jump_if(std::uint8_t operation, std::uint32_t a, std::int32_t number, std::int16_t by) {
  return raw(static_cast<std::uint8_t>(operation | group::jump), a, 0, by, number);
}
constexpr Instruction jump_if_reg(std::uint8_t operation, std::uint32_t a, std::uint32_t b, std::int16_t by) {
  return raw(static_cast<std::uint8_t>(operation | group::jump | 8), a, b, by, 0);
}
constexpr Instruction go(std::int16_t by) { return raw(jump::always | group::jump, 0, 0, by, 0); }
constexpr Instruction call(std::int32_t number) { return raw(jump::call | group::jump, 0, 0, 0, number); }
constexpr Instruction leave() { return raw(jump::exit | group::jump, 0, 0, 0, 0); }

}  // namespace weft::bytecode::assembly
