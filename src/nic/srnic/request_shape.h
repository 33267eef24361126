// Every request packet says where it stands in its message; that must agree with what it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nic/context.h"
#include "wire/opcode.h"
#include "wire/packet.h"
#include "wire/refusal.h"

namespace weft::nic {

// The slow path: it judges any packet, usually one of a message of several.
[[gnu::noinline]] inline Refusal judge_part(const Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
  const std::uint32_t offset = p.headers.sequence.offset();
  if (info.starts() != (offset == 0)) return info.starts() ? Refusal::not_continued : Refusal::not_first;
  if (!info.payload) return Refusal::none;
  const std::size_t bytes = p.payload.size(), most = std::size_t{p.packets} << c.mtu_shift;
  if (bytes > most || (!info.ends() && bytes != most)) return Refusal::bad_length;
  if (p.packets > 1 && bytes <= most - path_mtu(c)) return Refusal::bad_length;
  if (info.step == wire::Step::last && bytes == 0) return Refusal::bad_length;
  return (std::uint64_t{offset} << c.mtu_shift) + bytes > kMaxMessage ? Refusal::too_long : Refusal::none;
}

inline Refusal judge_shape(const Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
  const bool whole = info.step == wire::Step::only && p.headers.sequence.offset() == 0 && p.packets == 1;
  return whole && p.payload.size() <= path_mtu(c) ? Refusal::none : judge_part(c, p, info);
}

}  // namespace weft::nic
