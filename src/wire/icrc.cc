#include "wire/icrc.h"

#include <array>
#include <cassert>
#include <cstring>

#include <isa-l/crc.h>

#include "wire/bytes.h"

namespace weft::wire {
namespace {

constexpr std::size_t kBthMaskedByte = 4;  // FECN, BECN and six reserved bits

// CRC of eight bytes of ones: the local route header that RoCE does not have.
constexpr std::uint32_t kAfterLrh = 0x2144'DF1C;

// ISA-L's wide-vector code leaves the upper halves of the registers in use, and from then on every SSE instruction of
// this thread depends on them: measured, the whole card ran at half its speed. So they are cleared after each call.
void clear_upper_registers() {
#if defined(__x86_64__) && !defined(__AVX__)
  static const bool wide = __builtin_cpu_supports("avx") != 0;
  if (wide) asm volatile("vzeroupper" ::: "memory");
#endif
}

std::uint32_t crc(std::uint32_t before, const std::byte* bytes, std::size_t size) {
  // reinterpret_cast: ISA-L speaks unsigned char.
  const std::uint32_t after = crc32_gzip_refl(before, reinterpret_cast<const unsigned char*>(bytes), size);
  clear_upper_registers();
  return after;
}

// Destination ports as they are on the wire: this is asked for with every packet.
constexpr auto kPortBytes = [] {
  std::array<std::array<std::byte, 2>, 4> bytes{};
  for (std::size_t i = 0; i < kUdpPorts; ++i) {
    const std::uint16_t number = number_of(static_cast<UdpPort>(i));
    bytes[i] = {static_cast<std::byte>(number >> 8), static_cast<std::byte>(number & 0xFF)};
  }
  return bytes;
}();

// The bytes in front of the payload, in one small buffer: one call of the library for all of them.
class Masked {
 public:
  // The most there is: IPv6, UDP, headers, and a payload small enough that copying it beats a call of its own.
  static constexpr std::size_t kRoom = 256;

  Masked(const Flow& flow, std::size_t udp_payload_bytes, Ipv4Ident ident) {
    const std::size_t udp_bytes = Udp::kBytes + udp_payload_bytes;
    assert(flow.source.is_v4() == flow.destination.is_v4() && udp_payload_bytes <= kMaxUdpPayloadBytes);
    if (flow.destination.is_v4()) {
      add_ipv4(flow, udp_bytes, ident);
    } else {
      add_ipv6(flow, udp_bytes);
    }
    put16(flow.source_port);
    put_port(flow.to);
    put16(udp_bytes);
    put16(0xFFFF);  // checksum
  }

  [[nodiscard]] bool fits(std::size_t size) const { return size <= kRoom - size_; }
  void add(std::span<const std::byte> bytes) {
    std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  void add_headers(std::span<const std::byte> headers) {
    const std::size_t bth = size_;
    add(headers);
    bytes_[bth + kBthMaskedByte] = std::byte{0xFF};
  }
  void add_zeros(std::size_t count) {
    std::memset(bytes_.data() + size_, 0, count);
    size_ += count;
  }
  [[nodiscard]] std::uint32_t icrc() const { return crc(kAfterLrh, bytes_.data(), size_); }

 private:
  void put16(std::size_t value) {
    store_be(bytes_.data() + size_, static_cast<std::uint16_t>(value));
    size_ += 2;
  }
  void put_port(UdpPort port) {
    std::memcpy(bytes_.data() + size_, kPortBytes[static_cast<std::size_t>(port) % kPortBytes.size()].data(), 2);
    size_ += 2;
  }
  void put32(std::uint32_t value) {
    store_be(bytes_.data() + size_, value);
    size_ += 4;
  }
  void add_ipv4(const Flow& flow, std::size_t udp_bytes, Ipv4Ident ident) {
    put16(0x45FF);  // version, five words; traffic class
    put16(Ipv4::kBytes + udp_bytes);
    put16(ident.identification);
    put16(ident.flags_offset);
    put32(0xFF11'FFFF);  // hop limit; UDP; checksum
    std::memcpy(bytes_.data() + size_, flow.source.bytes.data() + 12, 4);
    std::memcpy(bytes_.data() + size_ + 4, flow.destination.bytes.data() + 12, 4);
    size_ += 8;
  }
  void add_ipv6(const Flow& flow, std::size_t udp_bytes) {
    put32(0x6FFF'FFFF);  // version; traffic class and flow label
    put16(udp_bytes);
    put16(0x11FF);  // UDP; hop limit
    std::memcpy(bytes_.data() + size_, flow.source.bytes.data(), 16);
    std::memcpy(bytes_.data() + size_ + 16, flow.destination.bytes.data(), 16);
    size_ += 32;
  }

  std::array<std::byte, kRoom> bytes_;
  std::size_t size_ = 0;
};

constexpr std::array<std::byte, 3> kPadding{};

}  // namespace

std::uint32_t icrc_begin(const Flow& flow, std::size_t udp_payload_bytes, Ipv4Ident ident) {
  return Masked(flow, udp_payload_bytes, ident).icrc();
}

std::uint32_t icrc_headers(std::uint32_t before, std::span<const std::byte> headers) {
  assert(headers.size() >= Bth::kBytes);
  std::array<std::byte, Bth::kBytes> bth;
  std::memcpy(bth.data(), headers.data(), bth.size());
  bth[kBthMaskedByte] = std::byte{0xFF};
  return icrc_extend(crc(before, bth.data(), bth.size()), headers.subspan(Bth::kBytes));
}

std::uint32_t icrc_extend(std::uint32_t before, std::span<const std::byte> bytes) {
  return bytes.empty() ? before : crc(before, bytes.data(), bytes.size());
}

std::uint32_t icrc_of(const Flow& flow, std::span<const std::byte> headers, std::span<const std::byte> payload,
                      Ipv4Ident ident) {
  assert(headers.size() >= Bth::kBytes && headers.size() <= kMaxHeaderBytes);
  const std::size_t pad = pad_for(payload.size());
  Masked masked(flow, headers.size() + payload.size() + pad + kIcrcBytes, ident);
  masked.add_headers(headers);
  if (masked.fits(payload.size() + pad)) {
    if (!payload.empty()) masked.add(payload);
    masked.add_zeros(pad);
    return masked.icrc();
  }
  return icrc_extend(icrc_extend(masked.icrc(), payload), std::span(kPadding).first(pad));
}

namespace {

std::uint32_t icrc_of_datagram(const Flow& flow, std::span<const std::byte> udp_payload, Ipv4Ident ident) {
  Masked masked(flow, udp_payload.size(), ident);
  const auto covered = udp_payload.first(udp_payload.size() - kIcrcBytes);
  const auto bth = covered.first<Bth::kBytes>();
  const auto rest = covered.subspan(Bth::kBytes);
  masked.add_headers(bth);
  std::uint32_t icrc = 0;
  if (masked.fits(rest.size())) {
    if (!rest.empty()) masked.add(rest);
    icrc = masked.icrc();
  } else {
    icrc = icrc_extend(masked.icrc(), rest);
  }
  return icrc;
}

// Polynomials over GF(2) modulo the CRC's, as the CRC's register holds them: the highest bit is x^0.
constexpr std::uint32_t kPolynomial = 0xEDB8'8320, kOne = 0x8000'0000, kOverX = 0xDB71'0641;

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = 31; bit >= 0; --bit) {
    if (((a >> bit) & 1) != 0) product ^= b;
    b = (b & 1) != 0 ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return product;
}
static_assert(times(kOverX, kOne >> 1) == kOne, "x over x is one");

// x to the power of 8, 16, 32, ...; or of -8, -16, -32, ...
using Squares = std::array<std::uint32_t, 17>;  // a UDP payload is shorter than 2^16 bytes, its packet than 2^17
constexpr Squares squares_of(std::uint32_t one_byte) {
  Squares all{};
  for (std::uint32_t& one : all) {
    one = one_byte;
    one_byte = times(one_byte, one_byte);
  }
  return all;
}
constexpr std::uint32_t eighth_power(std::uint32_t a) {
  for (int i = 0; i < 3; ++i) a = times(a, a);
  return a;
}
constexpr Squares kMoreBytes = squares_of(eighth_power(kOne >> 1)), kFewerBytes = squares_of(eighth_power(kOverX));

// What n more bytes do to a difference in the register; or undo.
constexpr std::uint32_t power(const Squares& squares, std::size_t n) {
  std::uint32_t result = kOne;
  for (const std::uint32_t square : squares) {
    if ((n & 1) != 0) result = times(result, square);
    n >>= 1;
  }
  return result;
}
static_assert(times(power(kMoreBytes, 1000), power(kFewerBytes, 1000)) == kOne);

// From behind the identification (bytes 4 and 5 of the IP header) to the ICRC, and the identification's own two bytes.
constexpr std::size_t from_ident_on(std::size_t udp_payload_bytes) {
  return Ipv4::kBytes - 6 + Udp::kBytes + udp_payload_bytes - kIcrcBytes + 2;
}

}  // namespace

bool icrc_matches(const Flow& flow, std::span<const std::byte> udp_payload, Ipv4Ident ident) {
  return has_icrc_size(udp_payload) &&
         icrc_of_datagram(flow, udp_payload, ident) == load_icrc(udp_payload.last<kIcrcBytes>());
}

bool is_of_ident(const Flow& flow, std::uint32_t difference, std::size_t udp_payload_bytes) {
  if (!flow.destination.is_v4()) return difference == 0;
  // What is left then is the identification itself, in the low half of the register.
  return times(difference, power(kFewerBytes, from_ident_on(udp_payload_bytes))) <= 0xFFFF;
}

std::array<std::uint32_t, kIdentBits> ident_differences(std::size_t udp_payload_bytes) {
  const std::uint32_t behind = power(kMoreBytes, from_ident_on(udp_payload_bytes));
  std::array<std::uint32_t, kIdentBits> all{};
  for (std::size_t bit = 0; bit < kIdentBits; ++bit) {
    // The byte that comes first on the wire has the low eight bits of the register.
    const std::uint32_t ident = 1U << bit;
    all[bit] = times(ident >> 8 | (ident & 0xFF) << 8, behind);
  }
  return all;
}

bool icrc_matches_any_ident(const Flow& flow, std::span<const std::byte> udp_payload) {
  if (!has_icrc_size(udp_payload)) return false;
  const std::uint32_t difference = icrc_of_datagram(flow, udp_payload, {}) ^ load_icrc(udp_payload.last<kIcrcBytes>());
  return difference == 0 || is_of_ident(flow, difference, udp_payload.size());
}

}  // namespace weft::wire
