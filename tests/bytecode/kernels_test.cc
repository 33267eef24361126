// Bytecode as kernels: what its steps can do, and what becomes of those that do wrong at run time.
#include <array>
#include <numeric>

#include "bytecode/area.h"
#include "bytecode/bytecode_scene.h"

namespace weft::test {
namespace {

using nic::CallOutcome;
using Sums = std::array<std::uint64_t, 2>;

class BytecodeKernels : public BytecodeScene {
 protected:
  struct Wrong {
    std::uint64_t which = 0, where = 0;
  };
  CallOutcome go_wrong(std::uint64_t which, std::uint64_t where = 0) {
    const Wrong wrong{which, where};
    scene.clear_answers();
    const CallOutcome outcome = call(bytes_of_object(wrong));
    // Whatever that was: the next caller is served.
    const std::uint64_t address = scene.memory().address;
    EXPECT_EQ(call(bytes_of_object(address), kBytecodeOp + 1), CallOutcome::success);
    return outcome;
  }
};

TEST_P(BytecodeKernels, ReadAndAnswerCompiledAndInterpreted) {
  for (const bool interpret : {false, true}) {
    ASSERT_EQ(deploy("where", interpret), bytecode::BytecodeFault::none);
    const std::uint64_t address = scene.memory().address + 24;
    EXPECT_EQ(call(bytes_of_object(address)), CallOutcome::success);
    EXPECT_EQ(scene.answer(), text_of(std::span(scene.memory().bytes).subspan(24, 8)));
  }
}

TEST_P(BytecodeKernels, ReachMemoryThroughTheGateAlone) {
  ASSERT_EQ(deploy("where"), bytecode::BytecodeFault::none);
  ASSERT_EQ(deploy("write", false, kBytecodeOp + 1), bytecode::BytecodeFault::none);
  const std::uint64_t beyond = scene.memory().address + scene.memory().bytes.size();
  EXPECT_EQ(call(bytes_of_object(beyond)), CallOutcome::denied);
  struct {
    std::uint64_t address;
    char text[16];
  } to{beyond, "not here"};
  EXPECT_EQ(call(bytes_of_object(to), kBytecodeOp + 1), CallOutcome::denied);
  to.address = scene.memory().address + 4096;
  EXPECT_EQ(call(bytes_of_object(to), kBytecodeOp + 1), CallOutcome::success);
  EXPECT_EQ(answer_as<std::uint64_t>(), 16U);
  EXPECT_EQ(text_of(std::span(scene.memory().bytes).subspan(4096, 8)), "not here");
}

TEST_P(BytecodeKernels, TakeStreamsAndKeepStateFromStepToStep) {
  ASSERT_EQ(deploy("sum"), bytecode::BytecodeFault::none);
  std::vector<std::uint64_t> numbers(1001);
  std::iota(numbers.begin(), numbers.end(), 1);
  send(0, std::as_bytes(std::span(numbers)), kBytecodeOp);
  send(0, std::as_bytes(std::span(numbers)).first(80), kBytecodeOp);
  EXPECT_EQ(call({}), CallOutcome::success);
  EXPECT_EQ(answer_as<Sums>(), (Sums{8088, 501'501 + 55}));
}

TEST_P(BytecodeKernels, ThatGoWrongHarmNobodyButTheirCaller) {
  for (const bool interpret : {false, true}) {
    ASSERT_EQ(deploy("ways", interpret), bytecode::BytecodeFault::none);
    ASSERT_EQ(deploy("where", interpret, kBytecodeOp + 1), bytecode::BytecodeFault::none);
    const std::uint64_t area = sizeof(bytecode::Area) + 64;
    EXPECT_EQ(go_wrong(1), CallOutcome::stopped) << "it never ends";
    EXPECT_EQ(go_wrong(2, area - 64), CallOutcome::success) << "the last bytes of its own";
    for (const std::uint64_t where : {area - 63, area, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{63}})
      EXPECT_EQ(go_wrong(2, where), CallOutcome::failed) << "bytes that are not its own: " << where;
    EXPECT_EQ(go_wrong(3, scene.memory().address), CallOutcome::stopped) << "too much in one step";
    EXPECT_EQ(go_wrong(4), CallOutcome::failed) << "it wants what there is not";
    EXPECT_EQ(go_wrong(5, scene.memory().address), CallOutcome::denied) << "it reads too much at once";
    EXPECT_EQ(go_wrong(6), CallOutcome::denied) << "it reads where there is nothing";
    EXPECT_EQ(go_wrong(7), CallOutcome::failed) << "it answers more than it has";
  }
}

TEST_P(BytecodeKernels, AreReplacedAndRemovedWhileTheyAreCalled) {
  for (int n = 0; n < 20; ++n) {
    ASSERT_EQ(deploy(n % 2 == 0 ? "where" : "write", n % 3 == 0), bytecode::BytecodeFault::none);
    struct {
      std::uint64_t address;
      char text[8];
    } both{scene.memory().address, "replace"};
    ASSERT_EQ(scene.call({.opcode = kBytecodeOp, .parameters = bytes_of_object(both)}), host::Error::none);
    if (n % 5 == 4) {
      ASSERT_EQ(scene.card().remove_kernel(kBytecodeOp), host::Error::none);
    }
    ASSERT_TRUE(scene.bed.run());
    drain(scene.caller().node());
    EXPECT_EQ(scene.head().outcome, n % 5 == 4 ? CallOutcome::no_such_kernel : CallOutcome::success) << n;
  }
}

TEST_P(BytecodeKernels, WithLimitsThatMakeNoSenseAreRefused) {
  const std::vector<std::byte> object = bytecode::object_of("where");
  bytecode::Wanted wanted{
      .object = object, .opcode = 1, .name = "x", .state_bytes = 0, .most_steps = 1, .instances = 1};
  EXPECT_EQ(bytecode::make_kernel(wanted).verdict.fault, bytecode::BytecodeFault::none);
  wanted.state_bytes = bytecode::kMostState + 1;
  EXPECT_EQ(bytecode::make_kernel(wanted).verdict.fault, bytecode::BytecodeFault::bad_limits);
  wanted.state_bytes = 0;
  wanted.instances = 4097;
  EXPECT_EQ(bytecode::make_kernel(wanted).verdict.fault, bytecode::BytecodeFault::bad_limits);
}

INSTANTIATE_TEST_SUITE_P(Dialects, BytecodeKernels, testing::Values(nic::Dialect::roce, nic::Dialect::srnic));

}  // namespace
}  // namespace weft::test
