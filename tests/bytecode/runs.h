// Runs a checked program three times: by the reference, by DPDK's interpreter and by its compiler.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bytecode/engine.h"
#include "bytecode/reference.h"

namespace weft::bytecode {

// The port that programs call here: it takes down what it is told, and answers as it was told to.
struct ToldPort {
  std::vector<PortUse> uses;
  std::uint64_t answers = 0;
};
inline ToldPort told_port;

inline std::uint64_t take_down(const PortUse& use) {
  told_port.uses.push_back(use);
  return next_answer(use.call, told_port.answers);
}
#if defined(__x86_64__)
#define WEFT_TOLD_BY_BYTECODE [[gnu::force_align_arg_pointer]]
#else
#define WEFT_TOLD_BY_BYTECODE
#endif
WEFT_TOLD_BY_BYTECODE inline std::uint64_t told_write(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t,
                                                      std::uint64_t) {
  return take_down({port::write, {a, b, c}});
}
WEFT_TOLD_BY_BYTECODE inline std::uint64_t told_reply(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t,
                                                      std::uint64_t) {
  return take_down({port::reply, {a, b, c}});
}
WEFT_TOLD_BY_BYTECODE inline std::uint64_t told_send(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d,
                                                     std::uint64_t e) {
  return take_down({port::send, {a, b, c, d, e}});
}

// A memory for a program to run with, and what the port says, two bits for each call.
struct Occasion {
  std::vector<std::byte> area;
  std::uint64_t answers = 0;
};

inline std::string disagreement_of_engine(const Engine& engine, void* loaded, const Occasion& on,
                                          const ReferenceRun& run, std::span<const std::byte> expected) {
  // Behind the area are bytes that nobody may touch.
  std::vector<std::byte> memory = on.area;
  memory.resize(on.area.size() + 64, std::byte{0xA5});
  told_port = {{}, on.answers};
  if (engine.run(loaded, memory.data()) != run.result) return "another result";
  if (told_port.uses != run.uses) return "the port was told something else";
  if (!std::equal(expected.begin(), expected.end(), memory.begin())) return "another memory";
  const auto behind = memory.begin() + static_cast<std::ptrdiff_t>(on.area.size());
  const bool clean = std::all_of(behind, memory.end(), [](std::byte b) { return b == std::byte{0xA5}; });
  return clean ? "" : "it wrote behind its memory";
}

// How a program misbehaved, or how the engine made something else of it than the reference; empty: all agree.
inline std::string disagreement(std::span<const Instruction> program, const std::vector<Occasion>& occasions,
                                const Engine* engine, bool must_load = false) {
  std::vector<std::vector<std::byte>> expected;
  std::vector<ReferenceRun> runs;
  for (const Occasion& on : occasions) {
    expected.push_back(on.area);
    runs.push_back(Reference(program, expected.back(), on.answers).run());
    if (!runs.back().violation.empty()) return runs.back().violation;
  }
  if (engine == nullptr) return {};
  const EnginePort port{&told_write, &told_reply, &told_send};
  const auto count = static_cast<std::uint32_t>(program.size());
  const auto area_bytes = static_cast<std::uint32_t>(occasions.front().area.size());
  for (const bool compile : {false, true}) {
    void* const loaded = engine->load(program.data(), count, area_bytes, compile, port);
    // DPDK's verifier may refuse more than we do.
    if (loaded == nullptr) return must_load ? "DPDK refuses it" : "";
    std::string wrong;
    for (std::size_t n = 0; n < occasions.size() && wrong.empty(); ++n)
      wrong = disagreement_of_engine(*engine, loaded, occasions[n], runs[n], expected[n]);
    engine->unload(loaded);
    if (!wrong.empty()) return (compile ? "compiled: " : "interpreted: ") + wrong;
  }
  return {};
}

}  // namespace weft::bytecode
