// What an acknowledgement says (IBA 9.7.5.2): the syndrome byte of the AETH as meaning, and the times that five bits
// can name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weft::wire {

enum class NakCode : std::uint8_t {
  psn_sequence,
  invalid_request,
  remote_access,
  remote_operation,
  invalid_rd,
  // Between Weft cards: a call or its payload is for a kernel that is not there. IBA reserves the numbers from 5 on.
  no_kernel = 31,
};

// Every byte decodes to one of these, and encodes back to itself.
struct Syndrome {
  enum class Kind : std::uint8_t { ack, rnr, nak, reserved };
  static constexpr std::uint8_t kNoCredits = 31;  // the responder does not count: send as you like

  Kind kind = Kind::ack;
  std::uint8_t value = kNoCredits;  // ack: credit code; rnr: timer code; nak: NakCode; reserved: the whole byte
  friend constexpr bool operator==(const Syndrome&, const Syndrome&) = default;

  static constexpr Syndrome ack(std::uint8_t credit_code = kNoCredits) {
    return {Kind::ack, static_cast<std::uint8_t>(credit_code & 31)};
  }
  static constexpr Syndrome rnr(std::uint8_t timer_code) {
    return {Kind::rnr, static_cast<std::uint8_t>(timer_code & 31)};
  }
  static constexpr Syndrome nak(NakCode code) { return {Kind::nak, static_cast<std::uint8_t>(code)}; }

  [[nodiscard]] constexpr NakCode nak_code() const { return static_cast<NakCode>(value); }  // kind == nak

  // Is this byte, not decoded, an ACK and nothing else?
  static constexpr bool is_ack(std::uint8_t byte) { return byte >> 5 == 0; }

  static constexpr Syndrome decode(std::uint8_t byte) {
    const std::uint8_t low = byte & 31;
    switch (byte >> 5) {
      case 0: return {Kind::ack, low};
      case 1: return {Kind::rnr, low};
      case 3: return is_nak_code(low) ? Syndrome{Kind::nak, low} : Syndrome{Kind::reserved, byte};
      default: return {Kind::reserved, byte};
    }
  }
  [[nodiscard]] constexpr std::uint8_t encode() const {
    switch (kind) {
      case Kind::ack: return value;
      case Kind::rnr: return static_cast<std::uint8_t>(0x20 | value);
      case Kind::nak: return static_cast<std::uint8_t>(0x60 | value);
      case Kind::reserved: break;
    }
    return value;
  }

 private:
  static constexpr bool is_nak_code(std::uint8_t low) {
    return low <= static_cast<std::uint8_t>(NakCode::invalid_rd) ||
           low == static_cast<std::uint8_t>(NakCode::no_kernel);
  }
};

namespace detail {
constexpr bool every_syndrome_round_trips() {
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (Syndrome::decode(static_cast<std::uint8_t>(byte)).encode() != byte) return false;
  }
  return true;
}
}  // namespace detail
static_assert(detail::every_syndrome_round_trips());
static_assert(Syndrome::ack().encode() == 0x1F && Syndrome::rnr(14).encode() == 0x2E);
static_assert(Syndrome::nak(NakCode::remote_access).encode() == 0x62);
static_assert(Syndrome::decode(0x65).kind == Syndrome::Kind::reserved);
static_assert(Syndrome::decode(0x40).kind == Syndrome::Kind::reserved);
static_assert(Syndrome::decode(0x80).kind == Syndrome::Kind::reserved);

// IBA 9.7.5.2: how long a requester waits after "receiver not ready". Code 0 is the longest, not the shortest.
inline constexpr std::array<std::int64_t, 32> kRnrMicroseconds{
    655'360, 10,     20,     30,     40,     60,      80,      120,     160,     240,    320,
    480,     640,    960,    1'280,  1'920,  2'560,   3'840,   5'120,   7'680,   10'240, 15'360,
    20'480,  30'720, 40'960, 61'440, 81'920, 122'880, 163'840, 245'760, 327'680, 491'520};

// `nanosecond`, here and below: in ticks of the world's clock.
constexpr Time rnr_delay(std::uint8_t code, Time nanosecond) {
  return kRnrMicroseconds[code & 31] * 1'000 * nanosecond;
}

// IBA 9.7.6.1.3: the local ACK timeout is 4.096 us * 2^t; 0 switches it off.
constexpr Time ack_timeout(std::uint8_t t, Time nanosecond) {
  return (t & 31) == 0 ? kNever : 4'096 * nanosecond << (t & 31);
}
static_assert(ack_timeout(0, 1) == kNever && ack_timeout(14, 1) == 67'108'864);

}  // namespace weft::wire
