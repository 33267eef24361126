// Limits that are this library's own; the others are the device's (host/device.h).
#pragma once

#include <cstdint>

namespace weft::verbs {

inline constexpr std::uint8_t kPort = 1;
inline constexpr std::uint16_t kPkey = 0xFFFF;
inline constexpr int kMaxAddressHandles = 1 << 20;
inline constexpr std::uint64_t kDeviceMemory = 1U << 20;  // bytes, of each context

}  // namespace weft::verbs
