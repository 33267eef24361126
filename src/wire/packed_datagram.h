// Several packets in one plain datagram, as local peers send them to each other once the broker has introduced them.
// From anybody else such a datagram is malformed. Nothing need say where the next begins: a packet that cannot have a
// payload ends where its headers do, and its ICRC; one that can has kWholePayload of it, or is the last.
#pragma once

#include <cstddef>
#include <span>

#include "wire/codec.h"
#include "wire/opcode.h"

namespace weft::wire {

inline constexpr std::size_t kWholePayload = 4096;  // the largest path MTU

// The length of the first packet, if others follow it in the datagram; else 0.
[[nodiscard]] inline std::size_t bytes_of_first(std::span<const std::byte> datagram) {
  if (datagram.empty()) return 0;
  const OpcodeInfo& o = info(static_cast<Opcode>(datagram[0]));
  const std::size_t bytes = o.header_bytes + (o.payload ? kWholePayload : 0) + kIcrcBytes;
  return o.known() && datagram.size() > bytes ? bytes : 0;
}

// Calls each(packet) for all of them.
template <class Each>
void unpack(std::span<const std::byte> datagram, Each&& each) {
  for (std::size_t bytes = bytes_of_first(datagram); bytes != 0; bytes = bytes_of_first(datagram)) {
    each(datagram.first(bytes));
    datagram = datagram.subspan(bytes);
  }
  each(datagram);
}

}  // namespace weft::wire
