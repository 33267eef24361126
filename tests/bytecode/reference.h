// Another interpreter, for tests: it looks at each instruction by itself, believes nobody, and tells of anything that a
// checked program must never do. What it makes of a program DPDK's interpreter and compiler must make of it, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "bytecode/instruction.h"

namespace weft::bytecode {

// What was handed to the port.
struct PortUse {
  std::int32_t call = 0;
  std::array<std::uint64_t, 5> numbers{};
  friend bool operator==(const PortUse&, const PortUse&) = default;
};

// What the port says to a call: the next bits of `answers`, as one of the numbers that it may say.
inline std::uint64_t next_answer(std::int32_t call, std::uint64_t& answers) {
  const std::uint64_t said = answers & 3;
  answers >>= 2;
  return said % (port::most_answer_of(call) + 1);
}

struct ReferenceRun {
  std::string violation;  // empty: none
  std::uint64_t result = 0;
  std::vector<PortUse> uses;
};

class Reference {
 public:
  // `answers` says what the port says, one after another.
  Reference(std::span<const Instruction> program, std::span<std::byte> area, std::uint64_t answers)
      : program_(program), area_(area), answers_(answers) {
    write(1, kAreaAt);
    write(kFramePointer, kStackEnd);
  }

  ReferenceRun run() {
    for (std::size_t steps = 0; run_.violation.empty(); ++steps) {
      if (steps > program_.size()) return fail("it takes an instruction twice");
      if (at_ >= program_.size()) return fail("it runs past its end");
      const Instruction& i = program_[at_++];
      if (i.code == (jump::exit | group::jump)) {
        run_.result = read(0);
        break;
      }
      take(i);
    }
    return run_;
  }

 private:
  // Nowhere near where anything is: a program whose result depends on it knows what it must not.
  static constexpr std::uint64_t kAreaAt = 0x1357'0000'0000, kStackEnd = 0x2468'0000'0000;

  ReferenceRun& fail(const char* what) {
    if (run_.violation.empty()) run_.violation = std::string(what) + " at " + std::to_string(at_ - 1);
    return run_;
  }
  std::uint64_t read(std::uint32_t n) {
    if (!known_[n]) fail("it reads a register without a value");
    return registers_[n];
  }
  void write(std::uint32_t n, std::uint64_t value) {
    registers_[n] = value;
    known_[n] = true;
  }
  std::byte* place(std::uint64_t address, std::uint32_t bytes, bool reads) {
    if (address >= kAreaAt && address - kAreaAt <= area_.size() && bytes <= area_.size() - (address - kAreaAt))
      return area_.data() + (address - kAreaAt);
    const std::uint64_t stack_begin = kStackEnd - kStackBytes;
    if (address >= stack_begin && address + bytes <= kStackEnd) {
      const std::size_t at = address - stack_begin;
      for (std::size_t n = 0; n < bytes; ++n) {
        if (reads && !written_[at + n]) fail("it reads what it did not write");
        written_[at + n] = true;
      }
      return stack_.data() + at;
    }
    fail("it reaches outside");
    return nullptr;
  }

  void take(const Instruction& i) {
    switch (i.group()) {
      case group::load_immediate:
        write(i.to(), std::uint64_t{static_cast<std::uint32_t>(program_[at_].immediate)} << 32 |
                          static_cast<std::uint32_t>(i.immediate));
        ++at_;
        break;
      case group::load: {
        std::uint64_t value = 0;
        const std::byte* from =
            place(read(i.from()) + static_cast<std::uint64_t>(std::int64_t{i.offset}), i.bytes(), true);
        if (from != nullptr) std::memcpy(&value, from, i.bytes());
        write(i.to(), value);
        break;
      }
      case group::store:
      case group::store_immediate: {
        const std::uint64_t value = i.group() == group::store ? read(i.from()) : extended(i.immediate);
        std::byte* to = place(read(i.to()) + static_cast<std::uint64_t>(std::int64_t{i.offset}), i.bytes(), false);
        if (to != nullptr) std::memcpy(to, &value, i.bytes());
        break;
      }
      case group::jump: jump_or_call(i); break;
      default: compute(i); break;
    }
  }
  static std::uint64_t extended(std::int32_t n) { return static_cast<std::uint64_t>(std::int64_t{n}); }

  void compute(const Instruction& i) {
    const std::uint64_t b = i.takes_register() && i.operation() != alu::swap && i.operation() != alu::neg
                                ? read(i.from())
                                : extended(i.immediate);
    const std::uint64_t a = i.operation() == alu::mov ? 0 : read(i.to());
    if (i.operation() == alu::swap) return write(i.to(), swapped(a, i.immediate));
    const std::uint64_t count = b & 63;
    std::uint64_t r = 0;
    switch (i.operation()) {
      case alu::add: r = a + b; break;
      case alu::sub: r = a - b; break;
      case alu::mul: r = a * b; break;
      case alu::div:
      case alu::mod:
        if (b == 0) {
          fail("it divides by zero");
          return;
        }
        r = i.operation() == alu::div ? a / b : a % b;
        break;
      case alu::bit_or: r = a | b; break;
      case alu::bit_and: r = a & b; break;
      case alu::bit_xor: r = a ^ b; break;
      case alu::lsh: r = a << count; break;
      case alu::rsh: r = a >> count; break;
      case alu::arsh: r = static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> count); break;
      case alu::neg: r = 0 - a; break;
      default: r = b; break;
    }
    write(i.to(), r);
  }
  static std::uint64_t swapped(std::uint64_t v, std::int32_t bits) {
    if (bits != 64) v &= (std::uint64_t{1} << bits) - 1;
    return bits == 16   ? __builtin_bswap16(static_cast<std::uint16_t>(v))
           : bits == 32 ? __builtin_bswap32(static_cast<std::uint32_t>(v))
                        : __builtin_bswap64(v);
  }

  void jump_or_call(const Instruction& i) {
    if (i.operation() == jump::call) {
      PortUse use{.call = i.immediate};
      for (std::uint32_t n = 0; n < port::arguments_of(i.immediate); ++n) use.numbers[n] = read(n + 1);
      run_.uses.push_back(use);
      for (std::uint32_t n = 1; n <= 5; ++n) known_[n] = false;
      write(0, next_answer(i.immediate, answers_));
      return;
    }
    bool taken = true;
    if (i.operation() != jump::always) {
      const std::uint64_t a = read(i.to()), b = i.takes_register() ? read(i.from()) : extended(i.immediate);
      taken = compare(i.operation(), a, b);
    }
    if (taken) at_ = static_cast<std::size_t>(static_cast<std::int64_t>(at_) + i.offset);
  }
  static bool compare(std::uint8_t operation, std::uint64_t a, std::uint64_t b) {
    const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
    switch (operation) {
      case jump::eq: return a == b;
      case jump::ne: return a != b;
      case jump::gt: return a > b;
      case jump::ge: return a >= b;
      case jump::lt: return a < b;
      case jump::le: return a <= b;
      case jump::set: return (a & b) != 0;
      case jump::sgt: return x > y;
      case jump::sge: return x >= y;
      case jump::slt: return x < y;
      default: return x <= y;
    }
  }

  std::span<const Instruction> program_;
  std::span<std::byte> area_;
  std::uint64_t answers_;
  std::size_t at_ = 0;
  std::array<std::uint64_t, kRegisters> registers_{};
  std::array<bool, kRegisters> known_{};
  alignas(16) std::array<std::byte, kStackBytes> stack_{};
  std::array<bool, kStackBytes> written_{};
  ReferenceRun run_;
};

}  // namespace weft::bytecode
