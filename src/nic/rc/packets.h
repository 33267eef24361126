// From a work entry to the packets of its message: which opcode each gets.
#pragma once

#include <array>
#include <cstddef>

#include "nic/formats.h"
#include "wire/opcode.h"

namespace weft::nic {

// Opcodes of the four places in a message: first, middle, last, only.
struct MessageOpcodes {
  wire::Opcode first, middle, last, only;
  [[nodiscard]] constexpr wire::Opcode at(bool starts, bool ends) const {
    return starts ? (ends ? only : first) : (ends ? last : middle);
  }
};

namespace detail {

constexpr MessageOpcodes rc_opcodes(WorkKind kind) {
  using enum wire::Opcode;
  switch (kind) {
    case WorkKind::send_immediate: return {rc_send_first, rc_send_middle, rc_send_last_imm, rc_send_only_imm};
    case WorkKind::send_invalidate:
      return {rc_send_first, rc_send_middle, rc_send_last_invalidate, rc_send_only_invalidate};
    case WorkKind::write: return {rc_write_first, rc_write_middle, rc_write_last, rc_write_only};
    case WorkKind::write_immediate: return {rc_write_first, rc_write_middle, rc_write_last_imm, rc_write_only_imm};
    case WorkKind::rpc: return {rc_rpc, rc_rpc, rc_rpc, rc_rpc};  // never more than one packet
    case WorkKind::rpc_write: return {rc_rpc_write_first, rc_rpc_write_middle, rc_rpc_write_last, rc_rpc_write_only};
    case WorkKind::reply: return {rc_reply, rc_reply, rc_reply, rc_reply};
    case WorkKind::reply_immediate: return {rc_reply_imm, rc_reply_imm, rc_reply_imm, rc_reply_imm};
    default: return {rc_send_first, rc_send_middle, rc_send_last, rc_send_only};
  }
}

constexpr MessageOpcodes uc_opcodes(WorkKind kind) {
  using enum wire::Opcode;
  switch (kind) {
    case WorkKind::send_immediate: return {uc_send_first, uc_send_middle, uc_send_last_imm, uc_send_only_imm};
    case WorkKind::write: return {uc_write_first, uc_write_middle, uc_write_last, uc_write_only};
    case WorkKind::write_immediate: return {uc_write_first, uc_write_middle, uc_write_last_imm, uc_write_only_imm};
    default: return {uc_send_first, uc_send_middle, uc_send_last, uc_send_only};
  }
}

// Calls and their answers are 0xE0 more in srnic, all else is 0xC0 more.
constexpr wire::Opcode srnic_sibling(wire::Opcode o) {
  const auto code = static_cast<std::uint8_t>(o);
  return static_cast<wire::Opcode>(code | (code >= static_cast<std::uint8_t>(wire::Opcode::rc_rpc) ? 0xE0 : 0xC0));
}
constexpr MessageOpcodes srnic_opcodes(WorkKind kind) {
  const MessageOpcodes o = rc_opcodes(kind);
  return {srnic_sibling(o.first), srnic_sibling(o.middle), srnic_sibling(o.last), srnic_sibling(o.only)};
}

template <MessageOpcodes (*Of)(WorkKind)>
inline constexpr auto kTable = [] {
  std::array<MessageOpcodes, kWorkKinds> table{};
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = Of(static_cast<WorkKind>(i));
  return table;
}();

}  // namespace detail

// The opcodes for work that moves data to the peer, from tables because every message needs them.
constexpr const MessageOpcodes& rc_opcodes(WorkKind kind) {
  return detail::kTable<detail::rc_opcodes>[static_cast<std::size_t>(kind)];
}
constexpr const MessageOpcodes& srnic_opcodes(WorkKind kind) {
  return detail::kTable<detail::srnic_opcodes>[static_cast<std::size_t>(kind)];
}
constexpr const MessageOpcodes& uc_opcodes(WorkKind kind) {
  return detail::kTable<detail::uc_opcodes>[static_cast<std::size_t>(kind)];
}

}  // namespace weft::nic
