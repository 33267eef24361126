// libweft_bytecode.so.1: DPDK's BPF library behind bytecode/engine.h. It serves without DPDK's start-up and without
// privilege.
#include "bytecode/engine.h"

#include <array>
#include <new>
#include <vector>

#include <rte_bpf.h>
#include <rte_config.h>
#include <rte_log.h>

#include "bytecode/instruction.h"

namespace weft::bytecode {
namespace {

struct Loaded {
  rte_bpf* program = nullptr;
  std::uint64_t (*compiled)(void*) = nullptr;
};

rte_bpf_xsym call_of(const char* name, std::int32_t number, PortCall to) {
  rte_bpf_xsym call{};
  call.name = name;
  call.type = RTE_BPF_XTYPE_FUNC;
  call.func.val = to;
  call.func.nb_args = port::arguments_of(number);
  for (std::uint32_t i = 0; i < call.func.nb_args; ++i) call.func.args[i] = {RTE_BPF_ARG_RAW, 8, 0};
  call.func.ret = {RTE_BPF_ARG_RAW, 8, 0};
  return call;
}

// The verifier would write to standard error what it has against a program. Whoever deploys it is told, instead.
void be_quiet() {
  static const int done = rte_log_set_level_pattern("lib.bpf", RTE_LOG_EMERG);
  static_cast<void>(done);
}

// One instruction goes first: DPDK's verifier does not follow the other way of a conditional jump at the very begin.
std::vector<Instruction> with_beginning(const Instruction* program, std::uint32_t count) {
  std::vector<Instruction> all;
  all.reserve(count + 1);
  all.push_back({.code = group::alu64 | alu::mov, .registers = 0, .offset = 0, .immediate = 0});
  all.insert(all.end(), program, program + count);
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].code == kLoadLong) {
      ++i;
    } else if (all[i].code == (group::jump | jump::call)) {
      all[i].immediate -= port::write;  // DPDK counts from 0
    }
  }
  return all;
}

void* load(const void* instructions, std::uint32_t count, std::uint32_t area_bytes, bool compile,
           const EnginePort& to) try {
  be_quiet();
  const std::vector<Instruction> all = with_beginning(static_cast<const Instruction*>(instructions), count);
  const std::array<rte_bpf_xsym, 3> calls{call_of("write", port::write, to.write),
                                          call_of("reply", port::reply, to.reply),
                                          call_of("send", port::send, to.send)};
  rte_bpf_prm wanted{};
  wanted.ins = static_cast<const ebpf_insn*>(static_cast<const void*>(all.data()));
  wanted.nb_ins = static_cast<std::uint32_t>(all.size());
  wanted.xsym = calls.data();
  wanted.nb_xsym = static_cast<std::uint32_t>(calls.size());
  wanted.prog_arg = {RTE_BPF_ARG_PTR, area_bytes, 0};
  rte_bpf* const program = rte_bpf_load(&wanted);
  if (program == nullptr) return nullptr;
  rte_bpf_jit compiled{};
  if (compile) rte_bpf_get_jit(program, &compiled);
  return new Loaded{program, compiled.func};
} catch (const std::bad_alloc&) {
  return nullptr;
}

void unload(void* program) {
  auto* const loaded = static_cast<Loaded*>(program);
  rte_bpf_destroy(loaded->program);
  delete loaded;
}

std::uint64_t run(const void* program, void* area) {
  const Loaded& loaded = *static_cast<const Loaded*>(program);
  return loaded.compiled != nullptr ? loaded.compiled(area) : rte_bpf_exec(loaded.program, area);
}

bool is_compiled(const void* program) { return static_cast<const Loaded*>(program)->compiled != nullptr; }

}  // namespace
}  // namespace weft::bytecode

extern "C" const weft::bytecode::Engine weft_bytecode_engine_2{&weft::bytecode::load, &weft::bytecode::unload,
                                                               &weft::bytecode::run, &weft::bytecode::is_compiled};
