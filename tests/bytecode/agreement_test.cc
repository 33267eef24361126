// DPDK's interpreter and its compiler do what instructions mean: each instruction with all pairs of registers, and with
// operands at the edges. What they do not do right must be refused before (graph.cc), and is not tried here.
#include <array>

#include <gtest/gtest.h>

#include "bytecode/assembly.h"
#include "bytecode/check.h"
#include "bytecode/objects.h"
#include "bytecode/runs.h"

namespace weft::bytecode {
namespace {

using namespace assembly;

constexpr std::array<std::uint64_t, 10> kEdges{0,          1,          127,         128,        0x7FFFFFFF,
                                               0x80000000, 0xFFFFFFFF, 0x100000000, 1ULL << 63, ~0ULL};
constexpr std::array<std::int32_t, 8> kNumbers{0, 1, 31, 127, 128, -1, -128, 0x7FFFFFFF};
constexpr std::uint32_t kGeneral = 10;  // registers that a program may write

class Agreement : public testing::Test {
 protected:
  Agreement() {
    for (const std::uint64_t a : kEdges) {
      for (const std::uint64_t b : kEdges) {
        Occasion on{.area = std::vector<std::byte>(256), .answers = a};
        std::memcpy(on.area.data(), &a, sizeof a);
        std::memcpy(on.area.data() + 8, &b, sizeof b);
        occasions_.push_back(std::move(on));
      }
    }
  }
  void SetUp() override { ASSERT_NE(engine_, nullptr) << "libweft_bytecode.so.1 does not load"; }

  // All registers have a value, those of `a` and `b` the first two numbers of the area; `deed` happens; and all values
  // are in the area behind. The area's place is kept on the stack meanwhile.
  void expect(std::uint32_t a, std::uint32_t b, const Listing& deed, const std::string& what) {
    Listing program{store(8, 10, -8, 1)};
    for (std::uint32_t n = 0; n < kGeneral; ++n) {
      if (n != 1) program.push_back(mov(n, static_cast<std::int32_t>(1000 + n)));
    }
    // The one that is the area's place last.
    if (a == b) program.push_back(load(8, a, 1, 0));
    if (a != b && a == 1) program.insert(program.end(), {load(8, b, 1, 8), load(8, a, 1, 0)});
    if (a != b && a != 1) program.insert(program.end(), {load(8, a, 1, 0), load(8, b, 1, 8)});
    if (a != 1 && b != 1) program.push_back(mov(1, 1001));
    program.insert(program.end(), deed.begin(), deed.end());
    // Register 5 gives way, so that there is one that points to the area.
    program.insert(program.end(), {store(8, 10, -16, 5), load(8, 5, 10, -8)});
    for (std::uint32_t n = 0; n < kGeneral; ++n) {
      if (n != 5) program.push_back(store(8, 5, static_cast<std::int16_t>(32 + 8 * n), n));
    }
    program.insert(program.end(), {load(8, 0, 10, -16), leave()});
    const BytecodeVerdict v = check_program(program, 256);
    ASSERT_EQ(text_of(v.fault).name, "none") << what << " at " << v.at;
    ASSERT_EQ(disagreement(program, occasions_, engine_, true), "") << what << " of " << a << " and " << b;
  }
  template <class Each>
  static void for_pairs(Each&& each) {
    for (std::uint32_t a = 0; a < kGeneral; ++a) {
      for (std::uint32_t b = 0; b < kGeneral; ++b) each(a, b);
    }
  }

  const Engine* engine_ = find_engine();
  std::vector<Occasion> occasions_;
};

bool is_shift(std::uint8_t o) { return o == alu::lsh || o == alu::rsh || o == alu::arsh; }
bool is_division(std::uint8_t o) { return o == alu::div || o == alu::mod; }

TEST_F(Agreement, OnArithmeticOfRegisters) {
  for (std::uint32_t code = 0; code <= alu::arsh; code += 0x10) {
    const auto o = static_cast<std::uint8_t>(code);
    if (o == alu::neg) continue;
    const std::string what = "operation " + std::to_string(code);
    for_pairs([&](std::uint32_t a, std::uint32_t b) {
      if ((is_shift(o) || is_division(o)) && a == b) return;
      Listing deed{op_reg(o, a, b)};
      if (is_division(o)) deed.insert(deed.begin(), jump_if(jump::eq, b, 0, 1));
      expect(a, b, deed, what);
    });
  }
}

TEST_F(Agreement, OnArithmeticWithNumbers) {
  for (std::uint32_t a = 0; a < kGeneral; ++a) {
    const std::uint32_t b = (a + 1) % kGeneral;
    for (std::uint32_t code = 0; code <= alu::arsh; code += 0x10) {
      const auto o = static_cast<std::uint8_t>(code);
      const std::string what = "operation " + std::to_string(code) + " with a number";
      for (const std::int32_t number : kNumbers) {
        if (o == alu::neg && number != 0) continue;
        if (is_division(o) && number == 0) continue;
        expect(a, b, {op(o, a, is_shift(o) ? number & 63 : number)}, what);
      }
    }
    for (const std::int32_t bits : {16, 32, 64}) {
      expect(a, b, {raw(alu::swap | group::alu32 | 8, a, 0, 0, bits)}, "to big endian");
    }
    expect(a, b, {raw(kLoadLong, a, 0, 0, -7), raw(0, 0, 0, 0, 77)}, "a long number");
  }
}

TEST_F(Agreement, OnJumps) {
  for (std::uint32_t code = jump::eq; code <= jump::sle; code += 0x10) {
    const auto o = static_cast<std::uint8_t>(code);
    if (o == jump::call || o == jump::exit || o == jump::set) continue;
    const std::string what = "jump " + std::to_string(code);
    for_pairs([&](std::uint32_t a, std::uint32_t b) {
      expect(a, b, {jump_if_reg(o, a, b, 1), op(alu::add, a, 1)}, what);
    });
    for (std::uint32_t a = 0; a < kGeneral; ++a) {
      for (const std::int32_t number : kNumbers)
        expect(a, (a + 3) % kGeneral, {jump_if(o, a, number, 1), op(alu::add, a, 1)}, what + " with a number");
    }
  }
}

// Near and far, forwards and back.
TEST_F(Agreement, OnLongJumps) {
  for (const std::int16_t length : {10, 30, 40, 100, 1000}) {
    Listing deed{jump_if(jump::eq, 2, 0, static_cast<std::int16_t>(length + 1))};
    for (int n = 0; n < length; ++n) deed.push_back(op(alu::add, 3, n));
    deed.push_back(op(alu::add, 2, 7));
    expect(2, 3, deed, "a jump over " + std::to_string(length));
  }
  expect(2, 3, {go(2), op(alu::add, 2, 1), go(2), op(alu::add, 3, 5), go(-4)}, "a jump back");
}

TEST_F(Agreement, OnMemory) {
  for (const std::uint32_t bytes : {1u, 2u, 4u, 8u}) {
    for_pairs([&](std::uint32_t a, std::uint32_t b) {
      const std::string what = std::to_string(bytes) + " bytes";
      if (a == b) return;
      // Through `b`, which points to the area, to the stack and back.
      expect(a, b, {load(8, b, 10, -8), store(bytes, b, 16, a), load(bytes, a, b, 17), mov(b, 0)}, what);
      expect(a, b, {load(8, b, 10, -8), store(bytes, b, 200, a), load(bytes, a, b, 200), mov(b, 0)},
             what + " far away");
      expect(a, b, {store(8, 10, -24, b), store(bytes, 10, -24, a), load(bytes, b, 10, -24)}, what + " on the stack");
      expect(a, b, {load(8, b, 10, -8), store_number(bytes, b, 16, -2), mov(b, 0)}, what + " of a number");
      expect(a, b, {load(8, b, 10, -8), mov_reg(a, b), op(alu::add, a, 16), op_reg(alu::sub, a, b), mov(b, 0)},
             "a distance");
    });
  }
}

TEST_F(Agreement, OnCallsWhichKeepHalfOfTheRegisters) {
  for (std::uint32_t kept = 6; kept < 10; ++kept) {
    for (const std::int32_t which : {port::write, port::reply, port::send}) {
      expect(kept, 2,
             {mov_reg(1, kept), mov(3, -7), mov(4, 9), mov_reg(5, kept), call(which), mov(1, 0), mov(2, 0), mov(3, 0),
              mov(4, 0), mov(5, 0)},
             "a call");
    }
  }
}

TEST_F(Agreement, OnALongProgram) {
  std::vector<Instruction> program(kMostInstructions, op(alu::add, 0, 1));
  program.front() = mov(0, 0);
  program.back() = leave();
  EXPECT_EQ(check_program(program, 256).fault, BytecodeFault::none);
  EXPECT_EQ(disagreement(program, occasions_, engine_, true), "");
}

}  // namespace
}  // namespace weft::bytecode
