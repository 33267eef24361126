// Bytecode of anybody: an object file as it was sent, or the instructions themselves.
//
// What must hold: whatever the bytes are, there is a verdict. A program that the check takes for good ends, stays
// within its memory, reads nothing that it did not write and divides by nothing, with any input: the reference
// interpreter (tests/bytecode/reference.h) looks at each step. And DPDK's interpreter and compiler make of it what the
// reference does, although its memory lies elsewhere there: so no result depends on where anything lies.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "bytecode/area.h"
#include "bytecode/check.h"
#include "bytecode/object.h"
#include "bytecode/runs.h"

namespace weft::bytecode {
namespace {

constexpr std::uint32_t kFuzzArea = sizeof(Area) + 64;

void must_agree(std::span<const Instruction> program, const std::vector<Occasion>& occasions) {
  const std::string wrong = disagreement(program, occasions, find_engine());
  if (wrong.empty()) return;
  std::fprintf(stderr, "bytecode_fuzz: %s\n", wrong.c_str());
  for (std::size_t i = 0; i < program.size(); ++i) {
    std::fprintf(stderr, "  %zu: %02x r%u r%u %d %d\n", i, program[i].code, program[i].to(), program[i].from(),
                 program[i].offset, program[i].immediate);
  }
  std::abort();
}

// Memory that an input gives: its bytes again and again, with numbers at the edges between them.
std::vector<std::byte> area_of(std::span<const std::byte> bytes, std::uint64_t variant) {
  constexpr std::array<std::uint64_t, 8> kEdges{0, 1, 63, 4096, 0x7FFF'FFFF, 0xFFFF'FFFF, 1ULL << 63, ~0ULL};
  std::vector<std::byte> area(kFuzzArea);
  for (std::size_t i = 0; i < area.size(); ++i) area[i] = bytes.empty() ? std::byte{0} : bytes[i % bytes.size()];
  for (std::size_t slot = 0; slot < area.size() / 8; ++slot) {
    if (variant == 0) continue;
    const std::uint64_t edge = kEdges[(slot * 5 + variant) % kEdges.size()];
    std::memcpy(area.data() + slot * 8, &edge, sizeof edge);
  }
  return area;
}

// Instructions that are mostly well formed: most bytes of an input say something that has a meaning.
std::vector<Instruction> program_of(std::span<const std::byte> bytes) {
  constexpr std::array<std::uint8_t, 16> kCodes{0xB7, 0xBF, 0x07, 0x0F, 0x17, 0x1F, 0x57, 0x67,
                                                0x77, 0x79, 0x71, 0x7B, 0x73, 0x7A, 0xA5, 0x85};
  std::vector<Instruction> program;
  for (std::size_t at = 0; at + 4 <= bytes.size() && program.size() < 200; at += 4) {
    const auto byte = [&](std::size_t n) { return static_cast<std::uint8_t>(bytes[at + n]); };
    Instruction i;
    i.code = byte(0) < 64 ? kCodes[byte(0) % kCodes.size()] : byte(0);
    i.registers = static_cast<std::uint8_t>(byte(1) % 11 | (byte(1) / 11 % 11) << 4);
    const auto small = static_cast<std::int8_t>(byte(2));
    const std::uint8_t group = i.group();
    const bool memory = group == group::load || group == group::store || group == group::store_immediate;
    const bool jumps = group == group::jump && i.operation() != jump::call && i.operation() != jump::exit;
    if (memory) i.offset = static_cast<std::int16_t>(i.from() == 1 || i.to() == 1 ? 17 * byte(2) : small);
    if (jumps) i.offset = static_cast<std::int16_t>(byte(2) % 16);
    const bool has_number = !memory && !i.takes_register() && i.operation() != alu::neg;
    if (has_number || group == group::store_immediate) i.immediate = static_cast<std::int32_t>(byte(3)) - 16;
    if (group == group::jump && i.operation() == jump::call) i = {0x85, 0, 0, byte(3) % 3 + 1};
    if (group == group::jump && i.operation() == jump::exit) i = {0x95, 0, 0, 0};
    if (i.code == kLoadLong) {
      program.push_back({kLoadLong, static_cast<std::uint8_t>(byte(1) % 10), 0, byte(2)});
      i = {0, 0, 0, small};
    } else if (!i.takes_register() && (group == group::alu32 || group == group::alu64 || group == group::jump)) {
      i.registers &= 0x0F;
    } else if (group == group::store_immediate) {
      i.registers &= 0x0F;
    }
    program.push_back(i);
  }
  program.push_back({0x95, 0, 0, 0});
  return program;
}

void run_checked(std::span<const Instruction> program, std::span<const std::byte> bytes) {
  if (check_program(program, kFuzzArea).fault != BytecodeFault::none) return;
  std::vector<Occasion> occasions;
  for (std::uint64_t variant = 0; variant < 3; ++variant)
    occasions.push_back({area_of(bytes, variant), variant * 0x55});
  must_agree(program, occasions);
}

}  // namespace
}  // namespace weft::bytecode

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::bytecode;
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(static_cast<const void*>(data)), size);
  if (size == 0) return 0;
  std::vector<Instruction> program;
  if (data[0] == 0x7F) {
    const bool is_object = read_object(bytes, "", program).fault == BytecodeFault::none;
    if (is_object) run_checked(program, bytes);
  } else if (data[0] % 2 == 0) {
    program.resize((size - 1) / sizeof(Instruction));
    if (!program.empty()) std::memcpy(program.data(), data + 1, program.size() * sizeof(Instruction));
    run_checked(program, bytes);
  } else {
    run_checked(program_of(bytes.subspan(1)), bytes);
  }
  return 0;
}
