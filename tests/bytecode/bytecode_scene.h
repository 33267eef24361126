// A caller, and a server whose kernels are bytecode.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "bytecode/objects.h"
#include "bytecode/program.h"
#include "kernels/scene.h"

namespace weft::test {

inline constexpr std::uint64_t kBytecodeOp = 0xB17E;

// Of tests/bytecode/kernels.
inline bytecode::MadeKernel make_kernel_of(const std::string& name, bool interpret, std::uint64_t opcode) {
  const std::vector<std::byte> object = bytecode::object_of(name);
  return bytecode::make_kernel({.object = object,
                                .opcode = opcode,
                                .name = name,
                                .state_bytes = 64,
                                .most_steps = 100,
                                .instances = 4,
                                .interpret = interpret});
}

class BytecodeScene : public testing::TestWithParam<nic::Dialect> {
 protected:
  BytecodeScene() { scene.clear_answers(); }

  bytecode::BytecodeFault deploy(const std::string& name, bool interpret = false, std::uint64_t opcode = kBytecodeOp) {
    const bytecode::MadeKernel made = make_kernel_of(name, interpret, opcode);
    if (made.verdict.fault != bytecode::BytecodeFault::none) return made.verdict.fault;
    EXPECT_EQ(scene.card().deploy(made.kernel), host::Error::none);
    return bytecode::BytecodeFault::none;
  }
  nic::CallOutcome call(std::span<const std::byte> parameters, std::uint64_t opcode = kBytecodeOp) {
    EXPECT_EQ(scene.call({.opcode = opcode, .parameters = parameters}), host::Error::none);
    EXPECT_TRUE(scene.bed.run());
    for (const nic::Completion& c : drain(scene.caller().node())) EXPECT_EQ(c.status, nic::Status::success);
    return scene.head().outcome;
  }
  // RPC WRITE of what lies in the caller's arena from `at` on.
  void send(std::uint64_t at, std::span<const std::byte> bytes, std::uint64_t opcode) {
    std::memcpy(&scene.caller().node().arena.bytes[at], bytes.data(), bytes.size());
    const auto length = static_cast<std::uint32_t>(bytes.size());
    ASSERT_EQ(scene.caller().post({.kind = nic::WorkKind::rpc_write, .local = {{at, length}}, .opcode = opcode}),
              host::Error::none);
    ASSERT_TRUE(scene.bed.run());
    for (const nic::Completion& c : drain(scene.caller().node())) EXPECT_EQ(c.status, nic::Status::success);
  }
  template <class T>
  [[nodiscard]] T answer_as() const {
    T value{};
    const std::string text = scene.answer();
    EXPECT_EQ(text.size(), sizeof value);
    if (text.size() == sizeof value) std::memcpy(&value, text.data(), sizeof value);
    return value;
  }

  CallScene scene{speaking(GetParam())};
};

}  // namespace weft::test
