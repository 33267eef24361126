// The transport headers of RoCEv2 (IBA volume 1, chapter 9). The wire layout of each lives only in its
// decode and encode, which are inverse to each other; fixed-extent spans make "too short" a type error.
// Reserved bits are written as zero and ignored when read, as the specification asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/opcode.h"
#include "wire/types.h"

namespace weft::wire {

struct Bth {  // Base Transport Header, in every packet
  static constexpr std::size_t kBytes = 12;
  Opcode opcode{};
  bool solicited = false, migrated = true, fecn = false, becn = false, ack_request = false;
  std::uint8_t pad = 0, version = 0;  // 2 and 4 bits
  Pkey pkey = kDefaultPkey;
  Qpn destination{};
  Psn psn{};
  friend constexpr bool operator==(const Bth&, const Bth&) = default;

  static constexpr Bth decode(std::span<const std::byte, kBytes> b) {
    const auto first = get<std::uint32_t, 0>(b), second = get<std::uint32_t, 4>(b), third = get<std::uint32_t, 8>(b);
    return {.opcode = static_cast<Opcode>(first >> 24),
            .solicited = bits<23, 1>(first) != 0,
            .migrated = bits<22, 1>(first) != 0,
            .fecn = bits<31, 1>(second) != 0,
            .becn = bits<30, 1>(second) != 0,
            .ack_request = bits<31, 1>(third) != 0,
            .pad = bits<20, 2>(first),
            .version = bits<16, 4>(first),
            .pkey = Pkey(static_cast<std::uint16_t>(first)),
            .destination = Qpn(second),
            .psn = Psn(third)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, place_bits<24, 8>(static_cast<std::uint8_t>(opcode)) | place_bits<23, 1>(solicited) |
                                 place_bits<22, 1>(migrated) | place_bits<20, 2>(pad) | place_bits<16, 4>(version) |
                                 pkey.raw());
    put<std::uint32_t, 4>(b, place_bits<31, 1>(fecn) | place_bits<30, 1>(becn) | destination.raw());
    put<std::uint32_t, 8>(b, place_bits<31, 1>(ack_request) | psn.raw());
  }
};
static_assert(round_trips(Bth{}));
static_assert(round_trips(Bth{.opcode = Opcode::rc_send_only,
                              .solicited = true,
                              .migrated = false,
                              .becn = true,
                              .ack_request = true,
                              .pad = 3,
                              .version = 0xA,
                              .pkey = Pkey(0x1234),
                              .destination = Qpn(0xAB'CDEF),
                              .psn = Psn(0x12'3456)}));

struct Reth {  // RDMA: where in the peer's memory
  static constexpr std::size_t kBytes = 16;
  std::uint64_t address = 0;
  Key key{};
  std::uint32_t length = 0;
  friend constexpr bool operator==(const Reth&, const Reth&) = default;

  static constexpr Reth decode(std::span<const std::byte, kBytes> b) {
    return {
        .address = get<std::uint64_t, 0>(b), .key = Key(get<std::uint32_t, 8>(b)), .length = get<std::uint32_t, 12>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint64_t, 0>(b, address);
    put<std::uint32_t, 8>(b, key.raw());
    put<std::uint32_t, 12>(b, length);
  }
};
static_assert(round_trips(Reth{.address = 0x0123'4567'89AB'CDEF, .key = Key(0xFEDC'BA98), .length = 0x8000'0001}));

struct AtomicEth {
  static constexpr std::size_t kBytes = 28;
  std::uint64_t address = 0;
  Key key{};
  std::uint64_t swap_add = 0, compare = 0;
  friend constexpr bool operator==(const AtomicEth&, const AtomicEth&) = default;

  static constexpr AtomicEth decode(std::span<const std::byte, kBytes> b) {
    return {.address = get<std::uint64_t, 0>(b),
            .key = Key(get<std::uint32_t, 8>(b)),
            .swap_add = get<std::uint64_t, 12>(b),
            .compare = get<std::uint64_t, 20>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint64_t, 0>(b, address);
    put<std::uint32_t, 8>(b, key.raw());
    put<std::uint64_t, 12>(b, swap_add);
    put<std::uint64_t, 20>(b, compare);
  }
};
static_assert(round_trips(AtomicEth{
    .address = ~0ull, .key = Key(1), .swap_add = 0x0102'0304'0506'0708, .compare = 0xF0E0'D0C0'B0A0'9080}));

struct AtomicAckEth {  // what the memory held before
  static constexpr std::size_t kBytes = 8;
  std::uint64_t original = 0;
  friend constexpr bool operator==(const AtomicAckEth&, const AtomicAckEth&) = default;

  static constexpr AtomicAckEth decode(std::span<const std::byte, kBytes> b) {
    return {.original = get<std::uint64_t, 0>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const { put<std::uint64_t, 0>(b, original); }
};
static_assert(round_trips(AtomicAckEth{.original = 0x0123'4567'89AB'CDEF}));

struct Aeth {  // acknowledgement
  static constexpr std::size_t kBytes = 4;
  std::uint8_t syndrome = 0;  // wire/syndrome.h
  Msn msn{};
  friend constexpr bool operator==(const Aeth&, const Aeth&) = default;

  static constexpr Aeth decode(std::span<const std::byte, kBytes> b) {
    const auto word = get<std::uint32_t, 0>(b);
    return {.syndrome = bits<24, 8>(word), .msn = Msn(word)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, place_bits<24, 8>(syndrome) | msn.raw());
  }
};
static_assert(round_trips(Aeth{.syndrome = 0xE5, .msn = Msn(0x81'0203)}));

struct Deth {  // datagrams
  static constexpr std::size_t kBytes = 8;
  Qkey qkey{};
  Qpn source{};
  friend constexpr bool operator==(const Deth&, const Deth&) = default;

  static constexpr Deth decode(std::span<const std::byte, kBytes> b) {
    return {.qkey = Qkey(get<std::uint32_t, 0>(b)), .source = Qpn(get<std::uint32_t, 4>(b))};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, qkey.raw());
    put<std::uint32_t, 4>(b, source.raw());
  }
};
static_assert(round_trips(Deth{.qkey = Qkey(0x8001'0000), .source = Qpn(0xFE'DCBA)}));

struct ImmDt {
  static constexpr std::size_t kBytes = 4;
  std::uint32_t value = 0;  // host order; verbs shows it in network order
  friend constexpr bool operator==(const ImmDt&, const ImmDt&) = default;

  static constexpr ImmDt decode(std::span<const std::byte, kBytes> b) { return {.value = get<std::uint32_t, 0>(b)}; }
  constexpr void encode(std::span<std::byte, kBytes> b) const { put<std::uint32_t, 0>(b, value); }
};
static_assert(round_trips(ImmDt{.value = 0xDEAD'BEEF}));

struct Ieth {
  static constexpr std::size_t kBytes = 4;
  Key key{};
  friend constexpr bool operator==(const Ieth&, const Ieth&) = default;

  static constexpr Ieth decode(std::span<const std::byte, kBytes> b) { return {.key = Key(get<std::uint32_t, 0>(b))}; }
  constexpr void encode(std::span<std::byte, kBytes> b) const { put<std::uint32_t, 0>(b, key.raw()); }
};
static_assert(round_trips(Ieth{.key = Key(0xC0FF'EE00)}));

}  // namespace weft::wire
