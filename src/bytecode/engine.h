// The face of libweft_bytecode.so.1, the only part of Weft that knows of DPDK. It is loaded when the first bytecode is
// deployed, so that no other program depends on it.
#pragma once

#include <cstdint>

namespace weft::bytecode {

// What a step calls (bytecode/instruction.h says with how many numbers).
using PortCall = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t);

struct EnginePort {
  PortCall write = nullptr, reply = nullptr, send = nullptr;
};

struct Engine {
  // Has DPDK's verifier look at the program, and makes it ready to run; compiles it if that is wanted and if DPDK can
  // do it for this processor. Null: the verifier refuses it, or there is no memory.
  void* (*load)(const void* instructions, std::uint32_t count, std::uint32_t area_bytes, bool compile,
                const EnginePort& port);
  void (*unload)(void* program);
  std::uint64_t (*run)(const void* program, void* area);
  bool (*is_compiled)(const void* program);
};

// nullptr: the library is not installed, or does not load. Tried once.
[[nodiscard]] const Engine* find_engine();

inline constexpr const char* kEngineLibrary = "libweft_bytecode.so.1";
inline constexpr const char* kEngineSymbol = "weft_bytecode_engine_2";

}  // namespace weft::bytecode
