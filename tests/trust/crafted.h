// Packets made by hand: what a peer would send, or what somebody would like the card to believe a peer has sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/packet.h"
#include "wire/syndrome.h"

// Loops with which a test sees what has happened teach a fuzzer nothing, and tracing each of their steps takes most of
// the time. Nor can a sanitizer find anything where whole objects are compared with whole copies.
#if defined(__clang__)
#define WEFT_NOT_TRACED __attribute__((no_sanitize("coverage"), noinline))
#define WEFT_NOT_SANITIZED __attribute__((no_sanitize("coverage", "address", "undefined"), noinline))
#else
#define WEFT_NOT_TRACED
#define WEFT_NOT_SANITIZED
#endif

namespace weft::trust {

// Bytes that tell their place, different for every `seed`.
WEFT_NOT_SANITIZED inline void fill_with_pattern(std::byte* out, std::size_t bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 31 + seed * 17 + (i >> 8));
}
WEFT_NOT_TRACED inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
  std::vector<std::byte> out(bytes);
  fill_with_pattern(out.data(), bytes, seed);
  return out;
}

struct Crafted {
  wire::Flow flow{};
  wire::Headers headers{};
  std::vector<std::byte> payload{};

  [[nodiscard]] wire::Packet packet() const { return {flow, headers, payload}; }

  // -- said in a chain: peer.request(Opcode::rc_write_only).at(address, key, 64).carrying(64)
  Crafted psn(wire::Psn p) && { return headers.bth.psn = p, std::move(*this); }
  Crafted ack_request(bool wanted = true) && { return headers.bth.ack_request = wanted, std::move(*this); }
  Crafted to(wire::Qpn qpn) && { return headers.bth.destination = qpn, std::move(*this); }
  Crafted at(std::uint64_t address, wire::Key key, std::uint32_t length) && {
    return headers.reth = {address, key, length}, std::move(*this);
  }
  Crafted atomic(std::uint64_t address, wire::Key key, std::uint64_t swap_add, std::uint64_t compare = 0) && {
    return headers.atomic = {address, key, swap_add, compare}, std::move(*this);
  }
  Crafted original(std::uint64_t value) && { return headers.atomic_ack.original = value, std::move(*this); }
  Crafted saying(wire::Syndrome syndrome) && { return headers.aeth.syndrome = syndrome.encode(), std::move(*this); }
  Crafted immediate(std::uint32_t value) && { return headers.immediate.value = value, std::move(*this); }
  Crafted invalidating(wire::Key key) && { return headers.invalidate.key = key, std::move(*this); }
  // srnic
  Crafted in(std::uint32_t msn, std::uint32_t ssn, std::uint32_t offset) && {
    return headers.sequence = wire::Sequence(msn, ssn, offset), std::move(*this);
  }
  Crafted srnic_ack(std::uint8_t syndrome, wire::Psn expected, std::uint16_t run = 0) && {
    return headers.srnic_ack = {.syndrome = syndrome, .expected = expected, .run = run}, std::move(*this);
  }
  Crafted qkey(wire::Qkey key) && { return headers.deth.qkey = key, std::move(*this); }
  Crafted carrying(std::size_t bytes, unsigned seed = 1) && { return payload = pattern(bytes, seed), std::move(*this); }
};

}  // namespace weft::trust
