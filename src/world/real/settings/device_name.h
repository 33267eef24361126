// What the device is called, wherever it is named: by libibverbs, in the sysfs view, in captures.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "wire/types.h"

namespace weft::real {

inline constexpr const char* kDeviceName = "weft0";

// A GUID made of the port's first address: the same in every program, and another one on every host.
constexpr std::array<std::uint8_t, 8> device_guid(const wire::Address& first) {
  std::array<std::uint8_t, 8> guid{0x02, 0x57, 0x45, 0x46};  // locally administered; W, E, F
  std::array<std::uint8_t, 4> tail{};
  for (std::size_t i = first.is_v4() ? 12 : 0; i < first.bytes.size(); ++i) {
    tail[i % 4] = static_cast<std::uint8_t>(std::rotl(tail[i % 4], 3) ^ first.bytes[i]);
  }
  std::copy(tail.begin(), tail.end(), guid.begin() + 4);
  return guid;
}

}  // namespace weft::real
