// Several packets in one plain datagram, as neighbours send them: those without payload first, then one that may have
// some. A packet without payload ends where its headers do, and its ICRC; so nothing need say where the next begins.
#pragma once

#include <cstddef>
#include <span>

#include "wire/codec.h"
#include "wire/opcode.h"

namespace weft::real {

// Of a first packet that has no payload, and is not all there is; else 0.
[[nodiscard]] inline std::size_t bytes_without_payload(std::span<const std::byte> datagram) {
  if (datagram.empty()) return 0;
  const wire::OpcodeInfo& o = wire::info(static_cast<wire::Opcode>(datagram[0]));
  const std::size_t bytes = o.header_bytes + wire::kIcrcBytes;
  return o.known() && !o.payload && datagram.size() > bytes ? bytes : 0;
}

// Calls each(packet) for all of them.
template <class Each>
void take_apart(std::span<const std::byte> datagram, Each&& each) {
  for (std::size_t bytes = bytes_without_payload(datagram); bytes != 0; bytes = bytes_without_payload(datagram)) {
    each(datagram.first(bytes));
    datagram = datagram.subspan(bytes);
  }
  each(datagram);
}

}  // namespace weft::real
