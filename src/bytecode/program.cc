#include "bytecode/program.h"

#include <cstring>
#include <limits>
#include <utility>

#include "bytecode/area.h"
#include "bytecode/check.h"
#include "bytecode/object.h"

// DPDK's compiler for x86-64 does not align the stack for what a program calls.
#if defined(__x86_64__)
#define WEFT_CALLED_BY_BYTECODE [[gnu::force_align_arg_pointer]]
#else
#define WEFT_CALLED_BY_BYTECODE
#endif

namespace weft::bytecode {
namespace {

constexpr std::uint32_t kMostSteps = 1U << 30, kMostInstances = 4096;
constexpr std::uint32_t kCallCost = 64;  // of a port's call that moves nothing, in bytes

// The step that runs on this thread. A program cannot say whose port it calls.
struct Running {
  nic::KernelStep& step;
  const std::byte* area;
  std::uint32_t area_bytes;
  std::uint32_t moved = 0;
  bool astray = false;   // it named bytes that are not its own
  bool overran = false;  // it handed over more than a step may
};
thread_local Running* running = nullptr;

// The bytes that a program means, or nothing.
const std::byte* take(Running& r, std::uint64_t offset, std::uint64_t bytes) {
  if (r.astray || r.overran) return nullptr;
  if (offset > r.area_bytes || bytes > r.area_bytes - offset) {
    r.astray = true;
    return nullptr;
  }
  if (bytes + kCallCost > kMostMoved - r.moved) {
    r.overran = true;
    return nullptr;
  }
  r.moved += static_cast<std::uint32_t>(bytes) + kCallCost;
  return r.area + offset;
}

WEFT_CALLED_BY_BYTECODE std::uint64_t port_write(std::uint64_t address, std::uint64_t offset, std::uint64_t bytes,
                                                 std::uint64_t, std::uint64_t) {
  Running& r = *running;
  const std::byte* const from = take(r, offset, bytes);
  return from != nullptr && r.step.write(address, from, static_cast<std::uint32_t>(bytes)) ? 1 : 0;
}

WEFT_CALLED_BY_BYTECODE std::uint64_t port_reply(std::uint64_t offset, std::uint64_t bytes, std::uint64_t,
                                                 std::uint64_t, std::uint64_t) {
  Running& r = *running;
  const std::byte* const from = take(r, offset, bytes);
  return from != nullptr && r.step.reply(from, static_cast<std::uint32_t>(bytes)) ? 1 : 0;
}

// The numbers of nic::KernelSent. A key, or a queue pair, of more than 32 bits is none.
WEFT_CALLED_BY_BYTECODE std::uint64_t port_send(std::uint64_t address, std::uint64_t key, std::uint64_t qpn,
                                                std::uint64_t offset, std::uint64_t bytes) {
  Running& r = *running;
  r.astray = r.astray || (key | qpn) > std::numeric_limits<std::uint32_t>::max();
  const std::byte* const from = take(r, offset, bytes);
  if (from == nullptr) return static_cast<std::uint64_t>(nic::KernelSent::refused);
  const nic::KernelTarget to{address, static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(qpn)};
  return static_cast<std::uint64_t>(r.step.send(to, from, static_cast<std::uint32_t>(bytes)));
}

constexpr EnginePort kPort{&port_write, &port_reply, &port_send};

nic::KernelNext run_step(nic::KernelStep& step) {
  const CheckedProgram& program = *static_cast<const CheckedProgram*>(step.context);
  Area& area = *static_cast<Area*>(static_cast<void*>(step.state));
  if (step.input_bytes > sizeof area.input) return nic::KernelNext::failed;
  area.event = static_cast<std::uint32_t>(step.event);
  area.qpn = step.qpn;
  area.input_bytes = step.input_bytes;
  area.last = step.last ? 1 : 0;
  area.is_local = step.is_local ? 1 : 0;
  area.offset = step.offset;
  area.opcode = step.opcode;
  area.read_address = 0;
  area.read_bytes = 0;
  area.taken = 0;
  if (step.input_bytes != 0) std::memcpy(area.input, step.input, step.input_bytes);
  Running now{.step = step, .area = step.state, .area_bytes = program.area_bytes()};
  Running* const before = std::exchange(running, &now);
  const auto next = static_cast<std::uint32_t>(program.run(&area));
  running = before;
  if (now.overran) return nic::KernelNext::stopped;
  if (now.astray || next > static_cast<std::uint32_t>(nic::KernelNext::retry)) return nic::KernelNext::failed;
  step.read_address = area.read_address;
  step.read_bytes = area.read_bytes;
  step.taken = area.taken;
  return static_cast<nic::KernelNext>(next);
}

}  // namespace

BytecodeVerdict check_object(std::span<const std::byte> object, std::string_view section, std::uint32_t state_bytes,
                             std::vector<Instruction>& program) {
  if (state_bytes > kMostState) return {BytecodeFault::bad_limits};
  if (const BytecodeVerdict v = read_object(object, section, program); v.fault != BytecodeFault::none) return v;
  return check_program(program, static_cast<std::uint32_t>(sizeof(Area)) + state_bytes);
}

MadeKernel make_kernel(const Wanted& w) {
  if (w.instances == 0 || w.instances > kMostInstances || w.most_steps == 0 || w.most_steps > kMostSteps)
    return {.verdict = {BytecodeFault::bad_limits}};
  std::vector<Instruction> instructions;
  const BytecodeVerdict v = check_object(w.object, w.section, w.state_bytes, instructions);
  if (v.fault != BytecodeFault::none) return {.verdict = v};
  const Engine* const engine = find_engine();
  if (engine == nullptr) return {.verdict = {BytecodeFault::no_library}};
  const std::uint32_t area_bytes = static_cast<std::uint32_t>(sizeof(Area)) + w.state_bytes;
  const auto count = static_cast<std::uint32_t>(instructions.size());
  void* const loaded = engine->load(instructions.data(), count, area_bytes, !w.interpret, kPort);
  if (loaded == nullptr) return {.verdict = {BytecodeFault::engine_refuses}};
  auto program = std::make_shared<const CheckedProgram>(*engine, loaded, area_bytes, count);
  nic::Kernel kernel{.opcode = w.opcode,
                     .name = w.name,
                     .step = &run_step,
                     .state_bytes = area_bytes,
                     .most_steps = w.most_steps,
                     .instances = w.instances,
                     .context = const_cast<CheckedProgram*>(program.get()),
                     .owner = program};
  return {.kernel = std::move(kernel), .program = std::move(program)};
}

}  // namespace weft::bytecode
