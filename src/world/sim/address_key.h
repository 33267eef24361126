// Addresses as two numbers, for tables that are sorted and searched.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "wire/types.h"

namespace weft::sim {

struct AddressKey {
  std::uint64_t high = 0, low = 0;

  constexpr AddressKey() = default;
  explicit AddressKey(const wire::Address& address) {
    std::memcpy(&high, address.bytes.data(), 8);
    std::memcpy(&low, address.bytes.data() + 8, 8);
    if constexpr (std::endian::native == std::endian::little) {
      high = __builtin_bswap64(high);
      low = __builtin_bswap64(low);
    }
  }
  [[nodiscard]] bool is_v4() const { return high == 0 && low >> 32 == 0xFFFF; }
  friend constexpr bool operator==(const AddressKey&, const AddressKey&) = default;
  friend constexpr bool operator<(const AddressKey& a, const AddressKey& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }
};

}  // namespace weft::sim
