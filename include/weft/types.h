// The small numbers of RDMA, each a type of its own, so that a queue pair number cannot be passed where a key is
// wanted; and what else all headers share. Plain values without owner.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// A number with a meaning. It is cut to its width on the wire when it is made.
template <class Meaning, class Rep, unsigned Bits>
class Numeral {
 public:
  constexpr Numeral() = default;
  constexpr explicit Numeral(Rep value) : value_(static_cast<Rep>(value & kMask)) {}
  [[nodiscard]] constexpr Rep raw() const { return value_; }
  friend constexpr auto operator<=>(Numeral, Numeral) = default;

 private:
  static constexpr Rep kMask = static_cast<Rep>((1ULL << Bits) - 1);
  Rep value_ = 0;
};

using Qpn = Numeral<struct QpnMeaning, std::uint32_t, 24>;        // queue pair number
using Qkey = Numeral<struct QkeyMeaning, std::uint32_t, 32>;      // what datagrams must know to be accepted
using CqNumber = Numeral<struct CqMeaning, std::uint32_t, 32>;    // names a completion queue of one device
using SrqNumber = Numeral<struct SrqMeaning, std::uint32_t, 32>;  // names a shared receive queue of one device

// Packet sequence number, 24 bits. A circle: there is no `<`.
class Psn {
 public:
  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & 0xFF'FFFF) {}
  [[nodiscard]] constexpr std::uint32_t raw() const { return value_; }
  friend constexpr bool operator==(Psn, Psn) = default;

 private:
  std::uint32_t value_ = 0;
};

// The key of a region or window; local and remote key are one. Its low byte is the variant: a window gets another one
// with each binding, so that a key given away before opens nothing after.
class Key {
 public:
  constexpr Key() = default;
  constexpr explicit Key(std::uint32_t value) : value_(value) {}
  [[nodiscard]] constexpr std::uint32_t raw() const { return value_; }
  [[nodiscard]] constexpr std::uint8_t variant() const { return static_cast<std::uint8_t>(value_); }
  [[nodiscard]] constexpr Key with_variant(std::uint8_t variant) const { return Key((value_ & ~0xFFU) | variant); }
  [[nodiscard]] constexpr Key next_variant() const { return with_variant(static_cast<std::uint8_t>(variant() + 1)); }
  friend constexpr bool operator==(Key, Key) = default;

 private:
  std::uint32_t value_ = 0;
};

// An IPv6 address, or an IPv4 one as ::ffff:a.b.c.d; the same 16 bytes are RoCEv2's GID.
struct Address {
  std::array<std::uint8_t, 16> bytes{};

  static constexpr Address v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
    return Address{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, a, b, c, d}};
  }
  [[nodiscard]] constexpr bool is_v4() const {
    for (std::size_t i = 0; i < 12; ++i) {
      if (bytes[i] != (i < 10 ? 0 : 0xFF)) return false;
    }
    return true;
  }
  friend constexpr bool operator==(const Address&, const Address&) = default;
};

// 10.0.0.1, or eight groups of hexadecimal digits.
[[nodiscard]] std::string text(const Address& address);

// A span of time, or a moment: the time since the world began. Whole picoseconds, up to 106 days.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration picoseconds(std::int64_t n) { return Duration(n); }
  static constexpr Duration nanoseconds(std::int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration microseconds(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration seconds(std::int64_t n) { return Duration(n * 1'000'000'000'000); }
  static constexpr Duration forever() { return Duration(INT64_MAX); }

  [[nodiscard]] constexpr std::int64_t in_picoseconds() const { return picoseconds_; }
  [[nodiscard]] constexpr double in_microseconds() const { return static_cast<double>(picoseconds_) / 1e6; }
  [[nodiscard]] constexpr double in_seconds() const { return static_cast<double>(picoseconds_) / 1e12; }

  friend constexpr bool operator==(Duration, Duration) = default;
  friend constexpr auto operator<=>(Duration a, Duration b) { return a.picoseconds_ <=> b.picoseconds_; }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration(a.picoseconds_ + b.picoseconds_); }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration(a.picoseconds_ - b.picoseconds_); }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }

 private:
  constexpr explicit Duration(std::int64_t picoseconds) : picoseconds_(picoseconds) {}
  std::int64_t picoseconds_ = 0;
};

// What a region, a window or a queue pair lets others do. Memory can always be read at home.
enum class Access : std::uint16_t {
  none = 0,
  local_write = 1 << 0,   // receives, READs and atomics may write their data here
  remote_write = 1 << 1,  // wants local_write as well, and so does remote_atomic
  remote_read = 1 << 2,
  remote_atomic = 1 << 3,
  bind_window = 1 << 4,  // windows may be opened onto this region
  zero_based = 1 << 5,   // addresses start at 0
};

constexpr Access operator|(Access a, Access b) {
  return static_cast<Access>(static_cast<std::uint16_t>(a) | static_cast<std::uint16_t>(b));
}
constexpr Access operator&(Access a, Access b) {
  return static_cast<Access>(static_cast<std::uint16_t>(a) & static_cast<std::uint16_t>(b));
}

inline constexpr Access kRemoteAccess = Access::remote_write | Access::remote_read | Access::remote_atomic;

// Reliable connection, unreliable connection, unreliable datagrams.
enum class Service : std::uint8_t { rc = 1, uc, ud };

// Which part a queue pair plays in a StaR connection (docs/star.md): its peer must play the other one.
enum class StarRole : std::uint8_t {
  none,       // it is no StaR connection
  stateless,  // the peer's card keeps the state of both sides
  stateful,   // this card does
};

// Which rule of the card was broken. Each has the name of its counter, and a sentence; no reason is false.
class Reason {
 public:
  constexpr Reason() = default;
  constexpr explicit Reason(std::uint8_t code) : code_(code) {}
  [[nodiscard]] constexpr std::uint8_t code() const { return code_; }
  [[nodiscard]] constexpr explicit operator bool() const { return code_ != 0; }
  [[nodiscard]] std::string_view name() const;     // rx_wrong_peer
  [[nodiscard]] std::string_view meaning() const;  // source address is not the connected peer's
  friend constexpr bool operator==(Reason, Reason) = default;

 private:
  std::uint8_t code_ = 0;
};

}  // namespace weft
