// Where bytes that came by the port become a packet that cannot be malformed, or a named refusal. Bytes in a ring are
// still their sender's, who may change them at any time: each is read once.
#pragma once

#include <cstring>
#include <span>

#include "wire/codec.h"
#include "wire/flow_icrc.h"
#include "wire/packet.h"
#include "world/real/port/ring_input.h"

namespace weft::real {

// The payload is somewhere else. Its sender says where, and how long it is; that is judged like any other length.
// `exported_by` is of this record, and `kept` lives as long as the packet.
[[nodiscard]] inline Refusal read_note(const RingExport& exported_by, RingExport& kept, wire::Packet& p) {
  ExportNote note;
  if (p.payload.size() != sizeof note) return Refusal::bad_length;
  if (exported_by.exporter == nullptr) return Refusal::payload_gone;
  std::memcpy(&note, p.payload.near().data(), sizeof note);
  if (note.packets < 2 || note.packets > kLongestOneCopy / 256 || note.bytes > kLongestOneCopy)
    return Refusal::bad_length;
  kept = exported_by;
  p.packets = note.packets;
  p.payload = wire::Payload::exported(kept, note.address, note.bytes);
  return Refusal::none;
}

// Reads a datagram whose flow is in the packet already.
[[nodiscard]] inline Refusal read_arrival(std::span<const std::byte> datagram, DatagramTraits how, wire::FlowIcrc& icrc,
                                          const RingExport& exported_by, RingExport& kept, wire::Packet& p) {
  p.packets = how.packets;
  Refusal why = wire::parse(datagram, p);
  if (how.one_copy && why == Refusal::none) [[unlikely]]
    why = read_note(exported_by, kept, p);
  if (p.packets != 1 && why == Refusal::none && !wire::may_be_burst(p)) [[unlikely]]
    why = Refusal::bad_length;
  if (why == Refusal::none && how.has_icrc && !icrc.matches_any_ident(p.flow, datagram)) [[unlikely]]
    why = Refusal::bad_icrc;
  return why;
}

}  // namespace weft::real
