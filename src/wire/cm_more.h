// What the connection manager does besides connections: alternate paths (LAP, APR; IBA 12.8) and finding the queue pair
// of a datagram service (SIDR_REQ, SIDR_REP; IBA 12.11).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/cm_path.h"
#include "wire/mad.h"

namespace weft::wire {

struct CmLap {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x19;

  std::uint32_t local_id = 0, remote_id = 0;
  Qpn remote_qpn{};
  std::uint8_t remote_response_timeout = 0;  // 5 bits
  CmPath alternate{};
  std::array<std::byte, 168> private_data{};
  friend constexpr bool operator==(const CmLap&, const CmLap&) = default;

  static constexpr CmLap decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .remote_id = get<std::uint32_t, 4>(b),
            .remote_qpn = Qpn(get24<12>(b)),
            .remote_response_timeout = bits<3, 5>(get<std::uint8_t, 15>(b)),
            .alternate = CmPath::decode_lap(b.subspan<20, CmPath::kBytes>()),
            .private_data = get_array<64, 168>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, remote_id);
    put<std::uint32_t, 8>(b, 0);
    put24<12>(b, remote_qpn.raw());
    put_byte<15>(b, place_bits<3, 5>(remote_response_timeout));
    put<std::uint32_t, 16>(b, 0);
    alternate.encode_lap(b.subspan<20, CmPath::kBytes>());
    put_array<64>(b, private_data);
  }
};

struct CmApr {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x1A;

  std::uint32_t local_id = 0, remote_id = 0;
  std::uint8_t info_length = 0;  // may claim more than there is
  std::uint8_t status = 0;
  std::array<std::byte, 72> info{};
  std::array<std::byte, 148> private_data{};
  friend constexpr bool operator==(const CmApr&, const CmApr&) = default;

  [[nodiscard]] constexpr std::span<const std::byte> additional() const {
    return std::span(info).first(std::min<std::size_t>(info_length, info.size()));
  }
  static constexpr CmApr decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .remote_id = get<std::uint32_t, 4>(b),
            .info_length = get<std::uint8_t, 8>(b),
            .status = get<std::uint8_t, 9>(b),
            .info = get_array<12, 72>(b),
            .private_data = get_array<84, 148>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, remote_id);
    put<std::uint8_t, 8>(b, info_length);
    put<std::uint8_t, 9>(b, status);
    put<std::uint16_t, 10>(b, 0);
    put_array<12>(b, info);
    put_array<84>(b, private_data);
  }
};

struct CmSidrReq {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x17;

  std::uint32_t request_id = 0;
  Pkey pkey = kDefaultPkey;
  std::uint64_t service_id = 0;
  std::array<std::byte, 216> private_data{};
  friend constexpr bool operator==(const CmSidrReq&, const CmSidrReq&) = default;

  static constexpr CmSidrReq decode(std::span<const std::byte, kBytes> b) {
    return {.request_id = get<std::uint32_t, 0>(b),
            .pkey = Pkey(get<std::uint16_t, 4>(b)),
            .service_id = get<std::uint64_t, 8>(b),
            .private_data = get_array<16, 216>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, request_id);
    put<std::uint16_t, 4>(b, pkey.raw());
    put<std::uint16_t, 6>(b, 0);
    put<std::uint64_t, 8>(b, service_id);
    put_array<16>(b, private_data);
  }
};

struct CmSidrRep {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x18;

  std::uint32_t request_id = 0;
  std::uint8_t status = 0;
  std::uint8_t info_length = 0;  // may claim more than there is
  Qpn qpn{};
  std::uint64_t service_id = 0;
  Qkey qkey{};
  std::array<std::byte, 72> info{};
  std::array<std::byte, 136> private_data{};
  friend constexpr bool operator==(const CmSidrRep&, const CmSidrRep&) = default;

  [[nodiscard]] constexpr std::span<const std::byte> additional() const {
    return std::span(info).first(std::min<std::size_t>(info_length, info.size()));
  }
  static constexpr CmSidrRep decode(std::span<const std::byte, kBytes> b) {
    return {.request_id = get<std::uint32_t, 0>(b),
            .status = get<std::uint8_t, 4>(b),
            .info_length = get<std::uint8_t, 5>(b),
            .qpn = Qpn(get24<8>(b)),
            .service_id = get<std::uint64_t, 12>(b),
            .qkey = Qkey(get<std::uint32_t, 20>(b)),
            .info = get_array<24, 72>(b),
            .private_data = get_array<96, 136>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, request_id);
    put<std::uint8_t, 4>(b, status);
    put<std::uint8_t, 5>(b, info_length);
    put<std::uint16_t, 6>(b, 0);
    put<std::uint32_t, 8>(b, qpn.raw() << 8);
    put<std::uint64_t, 12>(b, service_id);
    put<std::uint32_t, 20>(b, qkey.raw());
    put_array<24>(b, info);
    put_array<96>(b, private_data);
  }
};

}  // namespace weft::wire
