// Bytecode that has been checked and may run, and how it runs as a kernel: the card calls run_step() as it calls any
// other kernel's step, and finds the program in the kernel's context.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bytecode/engine.h"
#include "bytecode/fault.h"
#include "bytecode/instruction.h"
#include "nic/kernels/kernel.h"

namespace weft::bytecode {

class CheckedProgram {
 public:
  CheckedProgram(const Engine& engine, void* loaded, std::uint32_t area_bytes, std::uint32_t instructions)
      : engine_(engine), loaded_(loaded), area_bytes_(area_bytes), instructions_(instructions) {}
  ~CheckedProgram() { engine_.unload(loaded_); }
  CheckedProgram(const CheckedProgram&) = delete;
  CheckedProgram& operator=(const CheckedProgram&) = delete;

  [[nodiscard]] std::uint32_t area_bytes() const { return area_bytes_; }
  [[nodiscard]] std::uint32_t instructions() const { return instructions_; }
  [[nodiscard]] bool is_compiled() const { return engine_.is_compiled(loaded_); }
  [[nodiscard]] std::uint64_t run(void* area) const { return engine_.run(loaded_, area); }

 private:
  const Engine& engine_;
  void* loaded_;
  std::uint32_t area_bytes_, instructions_;
};

// What somebody wants to deploy.
struct Wanted {
  std::span<const std::byte> object{};
  std::string_view section{};
  std::uint64_t opcode = 0;
  std::string_view name{};
  std::uint32_t state_bytes = 0, most_steps = 0, instances = 0;
  bool interpret = false;
};

struct MadeKernel {
  BytecodeVerdict verdict{};
  nic::Kernel kernel{};
  std::shared_ptr<const CheckedProgram> program{};  // the kernel owns it, too
};

// A kernel to deploy, or why there is none.
[[nodiscard]] MadeKernel make_kernel(const Wanted& wanted);

// The checks alone, up to the engine's.
[[nodiscard]] BytecodeVerdict check_object(std::span<const std::byte> object, std::string_view section,
                                           std::uint32_t state_bytes, std::vector<Instruction>& program);

}  // namespace weft::bytecode
