// Big-endian numbers in byte spans. Offsets are template arguments, so a field outside its header does not compile.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace weft::wire {

// memcpy that also works in the compiler.
constexpr void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  } else if (size != 0) {
    std::memcpy(to, from, size);
  }
}

template <std::unsigned_integral T>
constexpr T swap_if_little(T value) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    static_assert(sizeof(T) == 8);
    return __builtin_bswap64(value);
  }
}

template <std::unsigned_integral T>
constexpr T load_be(const std::byte* from) {
  if (std::is_constant_evaluated()) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>((std::uint64_t{value} << 8) | std::to_integer<T>(from[i]));
    }
    return value;
  }
  T value;
  std::memcpy(&value, from, sizeof(T));
  return swap_if_little(value);
}

template <std::unsigned_integral T>
constexpr void store_be(std::byte* to, T value) {
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * (sizeof(T) - 1 - i)));
    return;
  }
  value = swap_if_little(value);
  std::memcpy(to, &value, sizeof(T));
}

// The number at byte `At` of a header of N bytes.
template <std::unsigned_integral T, std::size_t At, std::size_t N>
constexpr T get(std::span<const std::byte, N> bytes) {
  static_assert(N != std::dynamic_extent && At + sizeof(T) <= N);
  return load_be<T>(bytes.data() + At);
}

template <std::unsigned_integral T, std::size_t At, std::size_t N>
constexpr void put(std::span<std::byte, N> bytes, std::type_identity_t<T> value) {
  static_assert(N != std::dynamic_extent && At + sizeof(T) <= N);
  store_be<T>(bytes.data() + At, value);
}

// A byte made of packed bits.
template <std::size_t At, std::size_t N>
constexpr void put_byte(std::span<std::byte, N> bytes, std::uint32_t value) {
  put<std::uint8_t, At>(bytes, static_cast<std::uint8_t>(value));
}

// 24-bit numbers (QPN, PSN, MSN). They share a word with one other byte, which `put24` leaves alone.
template <std::size_t At, std::size_t N>
constexpr std::uint32_t get24(std::span<const std::byte, N> bytes) {
  return (std::uint32_t{get<std::uint8_t, At>(bytes)} << 16) | get<std::uint16_t, At + 1>(bytes);
}

template <std::size_t At, std::size_t N>
constexpr void put24(std::span<std::byte, N> bytes, std::uint32_t value) {
  put<std::uint8_t, At>(bytes, static_cast<std::uint8_t>(value >> 16));
  put<std::uint16_t, At + 1>(bytes, static_cast<std::uint16_t>(value));
}

// For libraries that speak unsigned char.
inline const unsigned char* as_unsigned_chars(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

// `Size` bytes as they are.
template <std::size_t At, std::size_t Size, class Byte = std::byte, std::size_t N>
constexpr std::array<Byte, Size> get_array(std::span<const std::byte, N> bytes) {
  static_assert(N != std::dynamic_extent && At + Size <= N);
  std::array<Byte, Size> out{};
  for (std::size_t i = 0; i < Size; ++i) out[i] = static_cast<Byte>(bytes[At + i]);
  return out;
}

template <std::size_t At, class Byte, std::size_t Size, std::size_t N>
constexpr void put_array(std::span<std::byte, N> bytes, const std::array<Byte, Size>& value) {
  static_assert(N != std::dynamic_extent && At + Size <= N);
  for (std::size_t i = 0; i < Size; ++i) bytes[At + i] = static_cast<std::byte>(value[i]);
}

// Bits [shift, shift + width) of a word: how headers pack small fields.
template <unsigned Shift, unsigned Width>
constexpr std::uint8_t bits(std::uint32_t word) {
  static_assert(Width <= 8 && Shift + Width <= 32);
  return static_cast<std::uint8_t>((word >> Shift) & ((1u << Width) - 1));
}

template <unsigned Shift, unsigned Width>
constexpr std::uint32_t place_bits(std::uint32_t value) {
  static_assert(Width <= 8 && Shift + Width <= 32);
  return (value & ((1u << Width) - 1)) << Shift;
}

// Does a header survive its way through bytes? For static_assert beside each header.
template <class Header>
constexpr bool round_trips(const Header& header) {
  std::byte bytes[Header::kBytes]{};
  header.encode(bytes);
  return Header::decode(std::span<const std::byte, Header::kBytes>(bytes)) == header;
}

}  // namespace weft::wire
