// The messages that delay, refuse or end a connection (IBA 12.6.6, 12.6.7, 12.6.10, 12.6.11): MRA, REJ, DREQ, DREP.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/mad.h"

namespace weft::wire {

// Which message an MRA or REJ is about. The two bits have a fourth value without a meaning.
enum class CmAbout : std::uint8_t { req = 0, rep = 1, other = 2, reserved = 3 };

struct CmMra {  // "I heard you, wait"
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x11;

  std::uint32_t local_id = 0, remote_id = 0;
  CmAbout about{};
  std::uint8_t service_timeout = 0;  // 5 bits
  std::array<std::byte, 222> private_data{};
  friend constexpr bool operator==(const CmMra&, const CmMra&) = default;

  static constexpr CmMra decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .remote_id = get<std::uint32_t, 4>(b),
            .about = static_cast<CmAbout>(bits<6, 2>(get<std::uint8_t, 8>(b))),
            .service_timeout = bits<3, 5>(get<std::uint8_t, 9>(b)),
            .private_data = get_array<10, 222>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, remote_id);
    put_byte<8>(b, place_bits<6, 2>(static_cast<std::uint8_t>(about)));
    put_byte<9>(b, place_bits<3, 5>(service_timeout));
    put_array<10>(b, private_data);
  }
};

struct CmRej {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x12;
  static constexpr std::uint16_t kTimeout = 4, kStaleConnection = 10, kInvalidServiceId = 8, kConsumer = 28;

  std::uint32_t local_id = 0, remote_id = 0;
  CmAbout about{};
  std::uint8_t info_length = 0;  // 7 bits; may claim more than there is
  std::uint16_t reason = 0;
  std::array<std::byte, 72> info{};
  std::array<std::byte, 148> private_data{};
  friend constexpr bool operator==(const CmRej&, const CmRej&) = default;

  // The additional information that is really there.
  [[nodiscard]] constexpr std::span<const std::byte> additional() const {
    return std::span(info).first(std::min<std::size_t>(info_length, info.size()));
  }
  static constexpr CmRej decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .remote_id = get<std::uint32_t, 4>(b),
            .about = static_cast<CmAbout>(bits<6, 2>(get<std::uint8_t, 8>(b))),
            .info_length = bits<1, 7>(get<std::uint8_t, 9>(b)),
            .reason = get<std::uint16_t, 10>(b),
            .info = get_array<12, 72>(b),
            .private_data = get_array<84, 148>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, remote_id);
    put_byte<8>(b, place_bits<6, 2>(static_cast<std::uint8_t>(about)));
    put_byte<9>(b, place_bits<1, 7>(info_length));
    put<std::uint16_t, 10>(b, reason);
    put_array<12>(b, info);
    put_array<84>(b, private_data);
  }
};

struct CmDreq {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x15;

  std::uint32_t local_id = 0, remote_id = 0;
  Qpn remote_qpn{};
  std::array<std::byte, 220> private_data{};
  friend constexpr bool operator==(const CmDreq&, const CmDreq&) = default;

  static constexpr CmDreq decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .remote_id = get<std::uint32_t, 4>(b),
            .remote_qpn = Qpn(get24<8>(b)),
            .private_data = get_array<12, 220>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, remote_id);
    put<std::uint32_t, 8>(b, remote_qpn.raw() << 8);
    put_array<12>(b, private_data);
  }
};

struct CmDrep {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x16;

  std::uint32_t local_id = 0, remote_id = 0;
  std::array<std::byte, 224> private_data{};
  friend constexpr bool operator==(const CmDrep&, const CmDrep&) = default;

  static constexpr CmDrep decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .remote_id = get<std::uint32_t, 4>(b),
            .private_data = get_array<8, 224>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, remote_id);
    put_array<8>(b, private_data);
  }
};

}  // namespace weft::wire
