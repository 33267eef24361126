// Management datagrams (IBA 13.4): 256 bytes in a UD packet to queue pair 1, 24 of them a header common to all classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/types.h"

namespace weft::wire {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr Qkey kGsiQkey{0x8001'0000};

struct MadHeader {
  static constexpr std::size_t kBytes = 24;
  static constexpr std::uint8_t kBaseVersion = 1;
  static constexpr std::uint8_t kMethodGet = 0x01, kMethodSet = 0x02, kMethodSend = 0x03, kMethodGetResponse = 0x81;

  std::uint8_t base_version = kBaseVersion, management_class = 0, class_version = 0, method = 0;
  std::uint16_t status = 0, class_specific = 0;
  std::uint64_t transaction = 0;
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  friend constexpr bool operator==(const MadHeader&, const MadHeader&) = default;

  static constexpr MadHeader decode(std::span<const std::byte, kBytes> b) {
    return {.base_version = get<std::uint8_t, 0>(b),
            .management_class = get<std::uint8_t, 1>(b),
            .class_version = get<std::uint8_t, 2>(b),
            .method = get<std::uint8_t, 3>(b),
            .status = get<std::uint16_t, 4>(b),
            .class_specific = get<std::uint16_t, 6>(b),
            .transaction = get<std::uint64_t, 8>(b),
            .attribute = get<std::uint16_t, 16>(b),
            .modifier = get<std::uint32_t, 20>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint8_t, 0>(b, base_version);
    put<std::uint8_t, 1>(b, management_class);
    put<std::uint8_t, 2>(b, class_version);
    put<std::uint8_t, 3>(b, method);
    put<std::uint16_t, 4>(b, status);
    put<std::uint16_t, 6>(b, class_specific);
    put<std::uint64_t, 8>(b, transaction);
    put<std::uint16_t, 16>(b, attribute);
    put<std::uint16_t, 18>(b, 0);
    put<std::uint32_t, 20>(b, modifier);
  }
};
static_assert(round_trips(MadHeader{.base_version = 9,
                                    .management_class = 7,
                                    .class_version = 2,
                                    .method = 3,
                                    .status = 0x1234,
                                    .class_specific = 0x5678,
                                    .transaction = 0x0102'0304'0506'0708,
                                    .attribute = 0x10,
                                    .modifier = 0xDEAD'BEEF}));

// What follows the header.
inline constexpr std::size_t kMadDataBytes = kMadBytes - MadHeader::kBytes;

}  // namespace weft::wire
