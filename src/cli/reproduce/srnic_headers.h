// The two opcodes whose headers the paper counts: packets in the middle of a message.
#pragma once

#include <optional>

#include "wire/opcode.h"

namespace weft::cli {

// Nothing where the card does not speak that dialect.
template <class Opcodes = wire::Opcode>
constexpr std::optional<wire::Opcode> srnic_send() {
  if constexpr (requires { Opcodes::srnic_send_middle; }) return Opcodes::srnic_send_middle;
  return std::nullopt;
}
template <class Opcodes = wire::Opcode>
constexpr std::optional<wire::Opcode> srnic_write() {
  if constexpr (requires { Opcodes::srnic_write_middle; }) return Opcodes::srnic_write_middle;
  return std::nullopt;
}

}  // namespace weft::cli
