// The one encoder of datagrams: headers, payload, padding and ICRC, one behind the other. Who leaves the payload where
// it is encodes headers (wire/codec.h) and trailer.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "wire/codec.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

namespace weft::wire {

// What stands behind the payload: padding and a blank ICRC. The answer is where it ends.
inline std::byte* encode_trailer(const Headers& headers, std::byte* at) {
  std::memset(at, 0, kIcrcBytes);  // padding is shorter than that
  at += headers.bth.pad;
  std::memset(at, 0, kIcrcBytes);
  return at + kIcrcBytes;
}

// What stands behind headers that end at `at`: payload, padding, a blank ICRC. The answer is where the datagram ends.
// A piece has `data` and `bytes`.
template <class Pieces>
std::byte* encode_behind_headers(const Headers& headers, const Pieces& payload, std::byte* at) {
  for (const auto& piece : payload) {
    std::memcpy(at, piece.data, piece.bytes);
    at += piece.bytes;
  }
  return encode_trailer(headers, at);
}

// Encodes to `at`, with a blank ICRC. The answer is where the datagram ends. Headers are encoded with room for the
// longest, so there must be room for kMaxHeaderBytes and all that follows.
template <class Pieces>
std::byte* encode_datagram(const Headers& headers, const Pieces& payload, std::byte* at) {
  at += encode_headers(headers, std::span<std::byte, kMaxHeaderBytes>(at, kMaxHeaderBytes));
  return encode_behind_headers(headers, payload, at);
}

// Puts the ICRC of this flow behind everything else.
inline void seal_datagram(const Flow& flow, std::span<std::byte> datagram, Ipv4Ident ident = {}) {
  const std::span<const std::byte> covered = datagram.first(datagram.size() - kIcrcBytes);
  store_icrc(datagram.last<kIcrcBytes>(),
             icrc_of(flow, covered.first(Bth::kBytes), covered.subspan(Bth::kBytes), ident));
}

}  // namespace weft::wire
