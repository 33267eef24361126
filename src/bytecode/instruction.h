// One instruction of eBPF, as it lies in an object and as DPDK's library takes it: RFC 9669, section 3.
#pragma once

#include <cstdint>

namespace weft::bytecode {

struct Instruction {
  std::uint8_t code = 0;
  std::uint8_t registers = 0;  // the destination's number, and above it the source's
  std::int16_t offset = 0;
  std::int32_t immediate = 0;

  [[nodiscard]] constexpr std::uint8_t to() const { return registers & 0x0F; }
  [[nodiscard]] constexpr std::uint8_t from() const { return registers >> 4; }
  [[nodiscard]] constexpr std::uint8_t group() const { return code & 0x07; }
  [[nodiscard]] constexpr std::uint8_t operation() const { return code & 0xF0; }
  [[nodiscard]] constexpr bool takes_register() const { return (code & 0x08) != 0; }
  // Of a load or a store.
  [[nodiscard]] constexpr std::uint32_t bytes() const {
    switch (code & 0x18) {
      case 0x00: return 4;
      case 0x08: return 2;
      case 0x10: return 1;
      default: return 8;
    }
  }
};
static_assert(sizeof(Instruction) == 8);

// The lowest three bits of a code.
namespace group {
inline constexpr std::uint8_t load_immediate = 0, load = 1, store_immediate = 2, store = 3, alu32 = 4, jump = 5,
                              alu64 = 7;
}
// The highest four bits, of ALU instructions and of jumps.
namespace alu {
inline constexpr std::uint8_t add = 0x00, sub = 0x10, mul = 0x20, div = 0x30, bit_or = 0x40, bit_and = 0x50, lsh = 0x60,
                              rsh = 0x70, neg = 0x80, mod = 0x90, bit_xor = 0xA0, mov = 0xB0, arsh = 0xC0, swap = 0xD0;
}
namespace jump {
inline constexpr std::uint8_t always = 0x00, eq = 0x10, gt = 0x20, ge = 0x30, set = 0x40, ne = 0x50, sgt = 0x60,
                              sge = 0x70, call = 0x80, exit = 0x90, lt = 0xA0, le = 0xB0, slt = 0xC0, sle = 0xD0;
}
inline constexpr std::uint8_t kLoadLong = 0x18;  // 64 bits, in two instructions
inline constexpr std::uint8_t kMemory = 0x60;    // the mode of loads and stores, above their size

inline constexpr std::uint32_t kRegisters = 11, kFramePointer = 10, kStackBytes = 512;
inline constexpr std::uint32_t kMostInstructions = 4096;

// What a step may call, with how many numbers, and the largest number that it is answered.
namespace port {
inline constexpr std::int32_t write = 1, reply = 2, send = 3;
constexpr bool has(std::int32_t call) { return call >= write && call <= send; }
constexpr std::uint32_t arguments_of(std::int32_t call) { return call == send ? 5 : 3; }
constexpr std::uint64_t most_answer_of(std::int32_t call) { return call == send ? 2 : 1; }
}  // namespace port

}  // namespace weft::bytecode
