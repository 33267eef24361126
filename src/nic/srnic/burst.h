// Bursts: consecutive packets of one message that travel as one (wire/packet.h). One in its turn is carried out whole.
// Any other is taken apart first: what has been lost, repeated or sent early is a matter of single packets.
#pragma once

#include <algorithm>
#include <cstdint>

#include "nic/rc/packets.h"
#include "wire/opcode.h"
#include "wire/packet.h"

namespace weft::nic {

// The opcode of a packet that stands elsewhere in the same message: a SEND, a WRITE or the response to a READ. Those of
// UC and of srnic are RC's and a constant.
constexpr wire::Opcode opcode_at(wire::Opcode of_all, bool starts, bool ends) {
  using enum wire::Opcode;
  const wire::OpcodeInfo& info = wire::info(of_all);
  const auto code = static_cast<std::uint8_t>(of_all);
  constexpr std::uint8_t kOfRc = 0x1F;
  const auto sibling = [code](wire::Opcode rc) {
    return static_cast<wire::Opcode>((code & ~kOfRc) | static_cast<std::uint8_t>(rc));
  };
  if (ends && info.ends()) {
    if (starts || !info.starts()) return of_all;
    switch (static_cast<wire::Opcode>(code & kOfRc)) {  // it was an only one
      case rc_send_only: return sibling(rc_send_last);
      case rc_send_only_imm: return sibling(rc_send_last_imm);
      case rc_send_only_invalidate: return sibling(rc_send_last_invalidate);
      case rc_write_only: return sibling(rc_write_last);
      case rc_write_only_imm: return sibling(rc_write_last_imm);
      default: return sibling(rc_read_response_last);
    }
  }
  switch (info.verb) {
    case wire::Verb::send: return sibling(starts ? rc_send_first : rc_send_middle);
    case wire::Verb::write: return sibling(starts ? rc_write_first : rc_write_middle);
    default: return sibling(starts ? rc_read_response_first : rc_read_response_middle);
  }
}
static_assert(opcode_at(wire::Opcode::srnic_write_only_imm, false, true) == wire::Opcode::srnic_write_last_imm);
static_assert(opcode_at(wire::Opcode::uc_send_only, true, false) == wire::Opcode::uc_send_first);
static_assert(opcode_at(wire::Opcode::rc_read_response_only, false, false) == wire::Opcode::rc_read_response_middle);

// Calls carry_out(packet) for each.
template <class CarryOut>
void split_burst(const wire::Packet& burst, std::uint8_t mtu_shift, CarryOut&& carry_out) {
  const wire::OpcodeInfo& info = wire::info(burst.headers.bth.opcode);
  const std::size_t mtu = std::size_t{1} << mtu_shift;
  wire::Packet one = burst;
  one.packets = 1;
  for (std::uint32_t i = 0; i < burst.packets; ++i) {
    const bool ends = info.ends() && i + 1 == burst.packets;
    const std::size_t from = std::min(i * mtu, burst.payload.size());
    one.payload = burst.payload.part(from, std::min(mtu, burst.payload.size() - from));
    one.headers.bth.opcode = opcode_at(burst.headers.bth.opcode, info.starts() && i == 0, ends);
    one.headers.bth.psn = burst.headers.bth.psn.plus(i);
    one.headers.bth.ack_request = burst.headers.bth.ack_request && i + 1 == burst.packets;
    one.headers.bth.solicited = burst.headers.bth.solicited && ends;
    one.headers.sequence = burst.headers.sequence.plus(i);
    one.headers.reth.address = burst.headers.reth.address + from;
    carry_out(one);
  }
}

}  // namespace weft::nic
