// The small numbers that RoCEv2 headers carry, each a type of its own.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/number.h"

namespace weft::wire {

using Qpn = Number<struct QpnTag, std::uint32_t, 24>;  // queue pair number
using Key = Number<struct KeyTag, std::uint32_t>;      // local or remote key of a region or window
using Msn = Number<struct MsnTag, std::uint32_t, 24>;  // message sequence number, counts completed messages
using Pkey = Number<struct PkeyTag, std::uint16_t>;    // partition key; bit 15 says full member
using Qkey = Number<struct QkeyTag, std::uint32_t>;    // queue key of datagrams

inline constexpr Qpn kGsiQpn{1};  // the connection manager's queue pair
inline constexpr Qpn kMulticastQpn{0xFF'FFFF};
inline constexpr Pkey kDefaultPkey{0xFFFF};
inline constexpr std::uint16_t kRocePort = 4791;  // UDP destination port of RoCEv2
// StaR's (wire/star.h): of the stateless side and of the stateful one.
inline constexpr std::uint16_t kStatelessPort = 4795, kStatefulPort = 4796;

// The UDP destination ports that a card hears. They tell how a packet's bytes are to be read.
enum class UdpPort : std::uint8_t { roce, stateless, stateful };
inline constexpr std::size_t kUdpPorts = 3;

constexpr bool is_known(UdpPort port) { return static_cast<std::size_t>(port) < kUdpPorts; }
// The port's number. The port is a known one.
constexpr std::uint16_t number_of(UdpPort port) {
  constexpr std::uint16_t kBefore = kStatelessPort - static_cast<std::uint16_t>(UdpPort::stateless);
  return port == UdpPort::roce ? kRocePort : static_cast<std::uint16_t>(kBefore + static_cast<std::uint16_t>(port));
}
static_assert(number_of(UdpPort::stateless) == kStatelessPort && number_of(UdpPort::stateful) == kStatefulPort);
constexpr bool is_udp_port(std::uint16_t number, UdpPort& out) {
  for (const UdpPort port : {UdpPort::roce, UdpPort::stateless, UdpPort::stateful}) {
    if (number_of(port) != number) continue;
    out = port;
    return true;
  }
  return false;
}

// IBA 10.9.3: partitions match when the low 15 bits agree and at least one side is a full member.
constexpr bool partitions_match(Pkey a, Pkey b) {
  return ((a.raw() ^ b.raw()) & 0x7FFF) == 0 && ((a.raw() | b.raw()) & 0x8000) != 0 && (a.raw() & 0x7FFF) != 0;
}

// 24-bit packet sequence number. A circle, so there is no `<`: order exists only relative to a base.
class Psn {
 public:
  static constexpr std::uint32_t kMask = 0x00FF'FFFF, kCount = kMask + 1;

  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & kMask) {}
  [[nodiscard]] constexpr std::uint32_t raw() const { return value_; }
  [[nodiscard]] constexpr Psn plus(std::uint32_t n) const { return Psn(value_ + n); }
  [[nodiscard]] constexpr Psn minus(std::uint32_t n) const { return Psn(value_ - n); }
  // Signed distance from `base`, -2^23 ... 2^23 - 1: positive is ahead, negative behind.
  [[nodiscard]] constexpr std::int32_t ahead_of(Psn base) const {
    return static_cast<std::int32_t>((value_ - base.value_) << 8) >> 8;
  }
  // Distance forward from `base`, 0 ... 2^24 - 1: for those who know that they are not behind it.
  [[nodiscard]] constexpr std::uint32_t since(Psn base) const { return (value_ - base.value_) & kMask; }
  friend constexpr bool operator==(Psn, Psn) = default;

 private:
  std::uint32_t value_ = 0;
};
static_assert(Psn(0).ahead_of(Psn(0xFF'FFFF)) == 1);
static_assert(Psn(0xFF'FFFF).ahead_of(Psn(0)) == -1);
static_assert(Psn(0x80'0000).ahead_of(Psn(0)) == -(1 << 23));

// An IPv6 address, or an IPv4 one as ::ffff:a.b.c.d; the same 16 bytes are RoCEv2's GID.
struct Address {
  std::array<std::uint8_t, 16> bytes{};

  static constexpr Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return Address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d}};
  }
  [[nodiscard]] constexpr bool is_v4() const {
    const auto words = std::bit_cast<std::array<std::uint32_t, 4>>(bytes);
    return words[0] == 0 && words[1] == 0 &&
           words[2] == std::bit_cast<std::uint32_t>(std::array<std::uint8_t, 4>{0, 0, 0xFF, 0xFF});
  }
  // As two words: this is asked of every packet, and a call to memcmp would cost more than the answer.
  friend constexpr bool operator==(const Address& a, const Address& b) {
    const auto x = std::bit_cast<std::array<std::uint64_t, 2>>(a.bytes);
    const auto y = std::bit_cast<std::array<std::uint64_t, 2>>(b.bytes);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }
};
static_assert(Address::v4(10, 0, 0, 1).is_v4() && !Address{}.is_v4());

}  // namespace weft::wire
