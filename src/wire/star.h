// StaR on the wire (docs/star.md): the packets between a card that keeps no connection state and the one that keeps it
// for both. The header is that of the paper's figure 8. Behind it stands our extension: towards the stateless card what
// it needs to let a stranger in (key, rights, epoch, expiry, MAC); from it how things went, and its clock.
//
//   0       4     6 7 8                              31
//   | PTYPE | OPT |M|A|             QPN               |
//   | X |  lane  |                  PSN               |
//   |                    ADDR_H                       |
//   |                    ADDR_L                       |
//   |          LEN          |        CHECKSUM         |
//
// The paper leaves open whose QPN it is: the stateful side's, in both directions. Its reserved byte is ours: X says
// that an extension follows, and the stateless program's lane number steers packets to it. A packet without extension
// is the paper's own: a card takes it only if it trusts its peers (nic::CardConfig::star_trust). ADDR of such a CQEP or
// EA names the stateless queue pair's block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/lane_number.h"
#include "wire/packet.h"
#include "wire/refusal.h"
#include "wire/types.h"

namespace weft::wire {

// EA goes both ways: the port tells which.
enum class StarType : std::uint8_t { rd, gd, cqep, ea, rda, gda, wqep };
inline constexpr std::size_t kStarTypes = 7;
// What a packet is part of.
enum class StarOpt : std::uint8_t { send, write, read, atomic };

struct StarHeader {
  static constexpr std::size_t kBytes = 20;
  StarType type{};
  StarOpt opt{};
  bool migrates = false, answer = false, extended = false;
  std::uint8_t lane = 0;  // 7 bits
  Qpn qpn{};
  Psn psn{};
  std::uint64_t address = 0;
  std::uint16_t length = 0;
  std::uint16_t checksum = 0;
  friend constexpr bool operator==(const StarHeader&, const StarHeader&) = default;

  static constexpr StarHeader decode(std::span<const std::byte, kBytes> b) {
    const auto first = get<std::uint32_t, 0>(b), second = get<std::uint32_t, 4>(b);
    return {.type = static_cast<StarType>(bits<28, 4>(first)),
            .opt = static_cast<StarOpt>(bits<26, 2>(first)),
            .migrates = bits<25, 1>(first) != 0,
            .answer = bits<24, 1>(first) != 0,
            .extended = bits<31, 1>(second) != 0,
            .lane = bits<24, 7>(second),
            .qpn = Qpn(first),
            .psn = Psn(second),
            .address = get<std::uint64_t, 8>(b),
            .length = get<std::uint16_t, 16>(b),
            .checksum = get<std::uint16_t, 18>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, place_bits<28, 4>(static_cast<std::uint8_t>(type)) |
                                 place_bits<26, 2>(static_cast<std::uint8_t>(opt)) | place_bits<25, 1>(migrates) |
                                 place_bits<24, 1>(answer) | qpn.raw());
    put<std::uint32_t, 4>(b, place_bits<31, 1>(extended) | place_bits<24, 7>(lane) | psn.raw());
    put<std::uint64_t, 8>(b, address);
    put<std::uint16_t, 16>(b, length);
    put<std::uint16_t, 18>(b, checksum);
  }
  // The sum of IP headers (RFC 1071) over this header, with the checksum itself as 0.
  [[nodiscard]] constexpr std::uint16_t checksum_of() const {
    std::byte encoded[kBytes]{};
    StarHeader blank = *this;
    blank.checksum = 0;
    blank.encode(encoded);
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < kBytes; i += 2) sum += load_be<std::uint16_t>(encoded + i);
    sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~(sum + (sum >> 16)));
  }
};
static_assert(round_trips(StarHeader{.type = StarType::wqep,
                                     .opt = StarOpt::read,
                                     .migrates = true,
                                     .answer = false,
                                     .extended = true,
                                     .lane = 0x55,
                                     .qpn = Qpn(0xAB'CDEF),
                                     .psn = Psn(0x12'3456),
                                     .address = 0x0123'4567'89AB'CDEF,
                                     .length = 4096,
                                     .checksum = 0xBEEF}));

// What a capability opens. The first three are nic::Rights of a region. The others are given for one piece of work of
// the stateless side's own program, whatever its region lets strangers do.
struct StarRights {
  static constexpr std::uint8_t remote_write = 1, remote_read = 2, remote_atomic = 4;
  static constexpr std::uint8_t work_write = 8, work_read = 16;
  static constexpr std::uint8_t control = 32;  // a queue pair's block: completions and acknowledgements
};

using StarMac = std::array<std::uint8_t, 16>;

// An unforgeable right: the MAC covers it, the stateful side's address and its queue pair.
struct Capability {
  Key key{};
  std::uint8_t rights = 0, epoch = 0;
  std::uint32_t length = 0;  // bytes from `base` on; 0: all of the region
  std::uint64_t base = 0;
  StarMac mac{};
  friend constexpr bool operator==(const Capability&, const Capability&) = default;
};

// Behind the header, towards a stateless card.
struct StarGuard {
  static constexpr std::size_t kBytes = 40;
  Capability capability{};
  std::uint32_t expiry = 0;  // microseconds of the stateless card's clock: later it takes the packet for a stale copy
  std::uint16_t incarnation = 0;  // tells the connections apart that have had the holder's number, one after the other
  friend constexpr bool operator==(const StarGuard&, const StarGuard&) = default;

  static constexpr StarGuard decode(std::span<const std::byte, kBytes> b) {
    return {.capability = {.key = Key(get<std::uint32_t, 0>(b)),
                           .rights = get<std::uint8_t, 4>(b),
                           .epoch = get<std::uint8_t, 5>(b),
                           .length = get<std::uint32_t, 12>(b),
                           .base = get<std::uint64_t, 16>(b),
                           .mac = get_array<24, 16, std::uint8_t>(b)},
            .expiry = get<std::uint32_t, 8>(b),
            .incarnation = get<std::uint16_t, 6>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, capability.key.raw());
    put<std::uint8_t, 4>(b, capability.rights);
    put<std::uint8_t, 5>(b, capability.epoch);
    put<std::uint16_t, 6>(b, incarnation);
    put<std::uint32_t, 8>(b, expiry);
    put<std::uint32_t, 12>(b, capability.length);
    put<std::uint64_t, 16>(b, capability.base);
    put_array<24>(b, capability.mac);
  }
};
static_assert(StarHeader::kBytes + StarGuard::kBytes == kStarDownBytes);

// Behind the header, from a stateless card.
struct StarAnswer {
  static constexpr std::size_t kBytes = 8;
  Refusal refusal = Refusal::none;  // why it was not done
  std::uint32_t clock = 0;          // its clock, in microseconds
  friend constexpr bool operator==(const StarAnswer&, const StarAnswer&) = default;

  static constexpr StarAnswer decode(std::span<const std::byte, kBytes> b) {
    return {.refusal = static_cast<Refusal>(get<std::uint8_t, 0>(b)), .clock = get<std::uint32_t, 4>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, std::uint32_t{static_cast<std::uint8_t>(refusal)} << 24);
    put<std::uint32_t, 4>(b, clock);
  }
};
static_assert(StarHeader::kBytes + StarAnswer::kBytes == kStarUpBytes);

// ---- in a wire::Packet ------------------------------------------------------------------------------------
// A StaR packet is a value like any other. Its parts stand in members of Headers that no BTH would use with its opcode:
// QPN, PSN, M and A in the BTH, ADDR, LEN and the key in the RETH, the rest of the guard in the AtomicETH.

constexpr bool is_star(Opcode o) { return info(o).verb == Verb::star; }
constexpr bool is_to_stateless(Opcode o) { return info(o).service == Service::stateless; }

struct StarView {
  static void set_guard(Headers& h, const StarGuard& g);
  static StarGuard guard(const Headers& h);
  static void set_answer(Headers& h, const StarAnswer& a) {
    h.aeth.syndrome = static_cast<std::uint8_t>(a.refusal);
    h.immediate.value = a.clock;
  }
  static StarAnswer answer(const Headers& h) { return {static_cast<Refusal>(h.aeth.syndrome), h.immediate.value}; }
  static void set_opt(Headers& h, StarOpt opt) { h.aeth.msn = Msn(static_cast<std::uint32_t>(opt)); }
  static StarOpt opt(const Headers& h) { return static_cast<StarOpt>(h.aeth.msn.raw() & 3); }
  // The packet has an extension, until set_plain() says that it has none.
  static void set_lane(Headers& h, std::uint8_t lane) { h.deth.source = Qpn(lane); }
  static void set_plain(Headers& h) { h.deth.source = Qpn(h.deth.source.raw() | kPlain); }
  static bool plain(const Headers& h) { return (h.deth.source.raw() & kPlain) != 0; }
  static std::uint8_t lane(const Headers& h) { return static_cast<std::uint8_t>(h.deth.source.raw() & 0x7F); }

 private:
  static constexpr std::uint32_t kPlain = 0x80;
};

// Of a packet's headers behind UDP, which StaR's opcodes alone do not tell.
inline std::size_t header_bytes(const Headers& h) {
  const OpcodeInfo& o = info(h.bth.opcode);
  return o.verb == Verb::star && StarView::plain(h) ? StarHeader::kBytes : o.header_bytes;
}

// The lane that a packet is for (wire/lane_number.h). The QPN of StaR's packets is always the stateful side's.
inline std::uint8_t lane_number(const Flow& flow, const Headers& h) {
  return flow.to == UdpPort::stateless ? StarView::lane(h) : lane_number(h.bth.destination);
}

// What wire/codec.h does for packets of these ports. A packet's payload is padded as any other's, and LEN says how long
// it is without; a GD has none, and LEN says how much it wants. reth.length must be that.
std::size_t encode_star_headers(const Headers& headers, std::span<std::byte> out);
// Refuses: truncated, star_bad_checksum, unknown_opcode, star_bad_length, star_bad_status, in this order.
[[nodiscard]] Refusal parse_star(std::span<const std::byte> udp_payload, Packet& out);

}  // namespace weft::wire
