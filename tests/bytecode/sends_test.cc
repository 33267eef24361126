// Bytecode that sends, as kernels of C++ do: what it reaches, what it waits for, and what is refused.
#include <algorithm>

#include "bytecode/area.h"
#include "bytecode/bytecode_scene.h"
#include "kernels/local_scene.h"

namespace weft::test {
namespace {

using nic::CallOutcome;
using nic::KernelTarget;

// As kernels/send.c has them.
struct SendParameters {
  std::uint64_t which = 0;
  KernelTarget to{};
  std::uint64_t where = 0, bytes = 0;
  char text[8] = {'a', 'r', 'r', 'i', 'v', 'e', 'd', '!'};
};

class BytecodeSends : public testing::TestWithParam<nic::Dialect> {
 protected:
  void deploy(const std::string& name, bool interpret = false) {
    const bytecode::MadeKernel made = make_kernel_of(name, interpret, kBytecodeOp);
    ASSERT_EQ(made.verdict.fault, bytecode::BytecodeFault::none) << made.verdict.at;
    ASSERT_EQ(scene.card().deploy(made.kernel), host::Error::none);
  }
  [[nodiscard]] Node& peer() { return scene.bed.node(1); }
  [[nodiscard]] KernelTarget target(std::uint64_t at = 0) {
    return {peer().arena.address + at, peer().arena.key.raw(), 0};
  }
  CallOutcome send(const SendParameters& parameters) {
    std::ranges::fill(peer().bytes({0, 8}), std::byte{0});
    return scene.call_with(kBytecodeOp, parameters);
  }
  [[nodiscard]] std::string arrived() { return text_of(peer().bytes({0, 8})); }

  LocalScene scene{speaking(GetParam()), {.local_calls = 1}};
};

TEST_P(BytecodeSends, ReachThePeerCompiledAndInterpreted) {
  for (const bool interpret : {false, true}) {
    deploy("send", interpret);
    EXPECT_EQ(send({.to = target()}), CallOutcome::success);
    EXPECT_EQ(arrived(), "arrived!");
    KernelTarget by_number = target();
    by_number.qpn = scene.qpn(0);
    EXPECT_EQ(send({.to = by_number}), CallOutcome::success);
    EXPECT_EQ(arrived(), "arrived!");
  }
}

// There is room for four at a time: the other steps come again.
TEST_P(BytecodeSends, OfAStreamArriveInOrderAndOnce) {
  constexpr std::uint32_t kBytes = 30'000;
  const std::span<std::byte> stream = scene.own().bytes({0, kBytes});
  for (std::size_t i = 0; i < stream.size(); ++i) stream[i] = static_cast<std::byte>(i * 7 >> 3);
  for (const bool interpret : {false, true}) {
    deploy("forward", interpret);
    std::ranges::fill(peer().bytes({0, 2 * kBytes}), std::byte{0});
    const KernelTarget to = target();
    EXPECT_EQ(scene.call_with(kBytecodeOp, to), CallOutcome::success);
    for (int n = 0; n < 2; ++n) {
      ASSERT_EQ(scene.payload(2, kBytecodeOp, Piece{0, kBytes}), host::Error::none);
      ASSERT_TRUE(scene.bed.run());
      const auto all = scene.done();
      ASSERT_EQ(all.size(), 1U);
      EXPECT_EQ(all[0].status, nic::Status::success);
    }
    EXPECT_EQ(scene.call_and_run(kBytecodeOp, {}), CallOutcome::success) << "all of it has arrived";
    EXPECT_TRUE(std::ranges::equal(stream, peer().bytes({0, kBytes})));
    EXPECT_TRUE(std::ranges::equal(stream, peer().bytes({kBytes, kBytes})));
  }
}

TEST_P(BytecodeSends, ThatGoWrongHarmNobodyButTheirCaller) {
  const std::uint64_t area = sizeof(bytecode::Area) + 64;
  for (const bool interpret : {false, true}) {
    deploy("send", interpret);
    const auto raw = [&](std::uint64_t where, std::uint64_t bytes) {
      return send({.which = 1, .to = target(), .where = where, .bytes = bytes});
    };
    EXPECT_EQ(raw(area - 8, 8), CallOutcome::success) << "the last bytes of its own";
    for (const std::uint64_t where : {area - 7, area, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{7}})
      EXPECT_EQ(raw(where, 8), CallOutcome::failed) << "bytes that are not its own: " << where;
    EXPECT_EQ(raw(0, (std::uint64_t{1} << 32) + 8), CallOutcome::failed) << "a key that is none";
    EXPECT_EQ(raw(0, 4097), CallOutcome::denied) << "more than may be sent at once";
    KernelTarget nowhere = target();
    nowhere.qpn = 0xABCDE;
    EXPECT_EQ(send({.to = nowhere}), CallOutcome::denied) << "by a queue pair that there is not";
    EXPECT_EQ(send({.which = 2, .to = target()}), CallOutcome::stopped) << "too much in one step";
    EXPECT_EQ(send({.which = 3, .to = target()}), CallOutcome::failed) << "it waits for what was not full";
    EXPECT_EQ(send({.which = 4, .to = target()}), CallOutcome::success) << "it says that it took more than it had";
    EXPECT_EQ(send({.which = 5, .to = target()}), CallOutcome::denied) << "it goes on when it was refused";
    EXPECT_NE(arrived(), "arrived!");
    EXPECT_EQ(send({.to = target()}), CallOutcome::success) << "whatever that was, the next one is served";
    EXPECT_EQ(arrived(), "arrived!");
  }
}

INSTANTIATE_TEST_SUITE_P(Dialects, BytecodeSends, testing::Values(nic::Dialect::roce, nic::Dialect::srnic));

class BytecodeForPeers : public BytecodeScene {};

TEST_P(BytecodeForPeers, DoesNotSend) {
  ASSERT_EQ(deploy("send"), bytecode::BytecodeFault::none);
  const KernelTarget own{scene.caller().node().arena.address, scene.caller().node().arena.key.raw(), 0};
  EXPECT_EQ(call(bytes_of_object(SendParameters{.to = own})), CallOutcome::failed) << "it knows that it must not";
  EXPECT_EQ(call(bytes_of_object(SendParameters{.which = 1, .to = own, .bytes = 8})), CallOutcome::denied);
  EXPECT_EQ(scene.refused(Refusal::kernel_no_way), 1U);
}

INSTANTIATE_TEST_SUITE_P(Dialects, BytecodeForPeers, testing::Values(nic::Dialect::roce, nic::Dialect::srnic));

}  // namespace
}  // namespace weft::test
