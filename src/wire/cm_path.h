// A path between two ports as the connection manager describes it (IBA 12.6.5, 12.6.8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.h"
#include "wire/types.h"

namespace weft::wire {

struct CmPath {
  static constexpr std::size_t kBytes = 44;

  std::uint16_t local_lid = 0, remote_lid = 0;  // RoCE has none; Linux writes 0xFFFF
  Address local{}, remote{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t rate = 0;         // 6 bits
  std::uint8_t traffic_class = 0, hop_limit = 0;
  std::uint8_t service_level = 0;  // 4 bits
  bool subnet_local = false;
  std::uint8_t ack_timeout = 0;  // 5 bits, wire/syndrome.h
  friend constexpr bool operator==(const CmPath&, const CmPath&) = default;

  static constexpr CmPath decode(std::span<const std::byte, kBytes> b) {
    const auto label_rate = get<std::uint32_t, 36>(b), rest = get<std::uint32_t, 40>(b);
    return {.local_lid = get<std::uint16_t, 0>(b),
            .remote_lid = get<std::uint16_t, 2>(b),
            .local = {get_array<4, 16, std::uint8_t>(b)},
            .remote = {get_array<20, 16, std::uint8_t>(b)},
            .flow_label = label_rate >> 12,
            .rate = bits<0, 6>(label_rate),
            .traffic_class = bits<24, 8>(rest),
            .hop_limit = bits<16, 8>(rest),
            .service_level = bits<12, 4>(rest),
            .subnet_local = bits<11, 1>(rest) != 0,
            .ack_timeout = bits<3, 5>(rest)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    encode_ends(b.first<36>());
    put<std::uint32_t, 36>(b, flow_label << 12 | place_bits<0, 6>(rate));
    put<std::uint32_t, 40>(b, place_bits<24, 8>(traffic_class) | place_bits<16, 8>(hop_limit) | tail());
  }

  // LAP packs the same things in another order.
  static constexpr CmPath decode_lap(std::span<const std::byte, kBytes> b) {
    const auto label_class = get<std::uint32_t, 36>(b), rest = get<std::uint32_t, 40>(b);
    return {.local_lid = get<std::uint16_t, 0>(b),
            .remote_lid = get<std::uint16_t, 2>(b),
            .local = {get_array<4, 16, std::uint8_t>(b)},
            .remote = {get_array<20, 16, std::uint8_t>(b)},
            .flow_label = label_class >> 12,
            .rate = bits<16, 6>(rest),
            .traffic_class = bits<0, 8>(label_class),
            .hop_limit = bits<24, 8>(rest),
            .service_level = bits<12, 4>(rest),
            .subnet_local = bits<11, 1>(rest) != 0,
            .ack_timeout = bits<3, 5>(rest)};
  }
  constexpr void encode_lap(std::span<std::byte, kBytes> b) const {
    encode_ends(b.first<36>());
    put<std::uint32_t, 36>(b, flow_label << 12 | traffic_class);
    put<std::uint32_t, 40>(b, place_bits<24, 8>(hop_limit) | place_bits<16, 6>(rate) | tail());
  }

 private:
  constexpr void encode_ends(std::span<std::byte, 36> b) const {
    put<std::uint16_t, 0>(b, local_lid);
    put<std::uint16_t, 2>(b, remote_lid);
    put_array<4>(b, local.bytes);
    put_array<20>(b, remote.bytes);
  }
  [[nodiscard]] constexpr std::uint32_t tail() const {
    return place_bits<12, 4>(service_level) | place_bits<11, 1>(subnet_local) | place_bits<3, 5>(ack_timeout);
  }
};
static_assert(round_trips(CmPath{.local_lid = 1,
                                 .remote_lid = 0xFFFF,
                                 .local = Address::v4(10, 0, 0, 1),
                                 .remote = Address::v4(10, 0, 0, 2),
                                 .flow_label = 0xA'BCDE,
                                 .rate = 63,
                                 .traffic_class = 0x81,
                                 .hop_limit = 64,
                                 .service_level = 9,
                                 .subnet_local = true,
                                 .ack_timeout = 21}));

}  // namespace weft::wire
