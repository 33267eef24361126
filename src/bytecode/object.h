// Finds a kernel's instructions in an object file of eBPF, as `clang -target bpf -c` makes them. Its bytes may be
// anybody's: every number in them is checked before it is used.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "bytecode/fault.h"
#include "bytecode/instruction.h"

namespace weft::bytecode {

inline constexpr std::size_t kMostObjectBytes = 256 * 1024;
inline constexpr std::string_view kSectionPrefix = "weft/";

// The instructions of the section of this name, or of the only one whose name begins with weft/.
[[nodiscard]] BytecodeVerdict read_object(std::span<const std::byte> object, std::string_view section,
                                          std::vector<Instruction>& program);

}  // namespace weft::bytecode
