// The three messages that make a connection (IBA 12.6.5, 12.6.8, 12.6.9): REQ asks, REP answers, RTU says go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/cm_path.h"
#include "wire/mad.h"

namespace weft::wire {

struct CmReq {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x10;
  static constexpr std::uint8_t kTransportRc = 0, kTransportUc = 1, kTransportXrc = 3;

  std::uint32_t local_id = 0;
  std::uint64_t service_id = 0, ca_guid = 0;
  Qkey qkey{};
  Qpn qpn{};
  std::uint8_t responder_resources = 0;  // READs and atomics that this side will hold
  std::uint32_t local_eecn = 0;          // 24 bits
  std::uint8_t initiator_depth = 0;      // READs and atomics that this side wants to have outstanding
  std::uint32_t remote_eecn = 0;         // 24 bits
  std::uint8_t remote_response_timeout = 0, transport = kTransportRc;  // 5 and 2 bits
  bool flow_control = false;
  Psn starting_psn{};
  std::uint8_t local_response_timeout = 0, retry_count = 0;  // 5 and 3 bits
  Pkey pkey = kDefaultPkey;
  std::uint8_t mtu = 0;  // 4 bits, 1 = 256 bytes ... 5 = 4096
  bool rdc_exists = false;
  std::uint8_t rnr_retry_count = 0, max_cm_retries = 0;  // 3 and 4 bits
  bool srq = false;
  std::uint8_t extended_transport = 0;  // 3 bits
  CmPath primary{}, alternate{};
  std::array<std::byte, 92> private_data{};
  friend constexpr bool operator==(const CmReq&, const CmReq&) = default;

  static constexpr CmReq decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .service_id = get<std::uint64_t, 8>(b),
            .ca_guid = get<std::uint64_t, 16>(b),
            .qkey = Qkey(get<std::uint32_t, 28>(b)),
            .qpn = Qpn(get24<32>(b)),
            .responder_resources = get<std::uint8_t, 35>(b),
            .local_eecn = get24<36>(b),
            .initiator_depth = get<std::uint8_t, 39>(b),
            .remote_eecn = get24<40>(b),
            .remote_response_timeout = bits<3, 5>(get<std::uint8_t, 43>(b)),
            .transport = bits<1, 2>(get<std::uint8_t, 43>(b)),
            .flow_control = bits<0, 1>(get<std::uint8_t, 43>(b)) != 0,
            .starting_psn = Psn(get24<44>(b)),
            .local_response_timeout = bits<3, 5>(get<std::uint8_t, 47>(b)),
            .retry_count = bits<0, 3>(get<std::uint8_t, 47>(b)),
            .pkey = Pkey(get<std::uint16_t, 48>(b)),
            .mtu = bits<4, 4>(get<std::uint8_t, 50>(b)),
            .rdc_exists = bits<3, 1>(get<std::uint8_t, 50>(b)) != 0,
            .rnr_retry_count = bits<0, 3>(get<std::uint8_t, 50>(b)),
            .max_cm_retries = bits<4, 4>(get<std::uint8_t, 51>(b)),
            .srq = bits<3, 1>(get<std::uint8_t, 51>(b)) != 0,
            .extended_transport = bits<0, 3>(get<std::uint8_t, 51>(b)),
            .primary = CmPath::decode(b.subspan<52, CmPath::kBytes>()),
            .alternate = CmPath::decode(b.subspan<96, CmPath::kBytes>()),
            .private_data = get_array<140, 92>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, 0);
    put<std::uint64_t, 8>(b, service_id);
    put<std::uint64_t, 16>(b, ca_guid);
    put<std::uint32_t, 24>(b, 0);
    put<std::uint32_t, 28>(b, qkey.raw());
    put24<32>(b, qpn.raw());
    put<std::uint8_t, 35>(b, responder_resources);
    put24<36>(b, local_eecn);
    put<std::uint8_t, 39>(b, initiator_depth);
    put24<40>(b, remote_eecn);
    put_byte<43>(b, place_bits<3, 5>(remote_response_timeout) | place_bits<1, 2>(transport) | flow_control);
    put24<44>(b, starting_psn.raw());
    put_byte<47>(b, place_bits<3, 5>(local_response_timeout) | place_bits<0, 3>(retry_count));
    put<std::uint16_t, 48>(b, pkey.raw());
    put_byte<50>(b, place_bits<4, 4>(mtu) | place_bits<3, 1>(rdc_exists) | place_bits<0, 3>(rnr_retry_count));
    put_byte<51>(b, place_bits<4, 4>(max_cm_retries) | place_bits<3, 1>(srq) | place_bits<0, 3>(extended_transport));
    primary.encode(b.subspan<52, CmPath::kBytes>());
    alternate.encode(b.subspan<96, CmPath::kBytes>());
    put_array<140>(b, private_data);
  }
};

struct CmRep {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x13;

  std::uint32_t local_id = 0, remote_id = 0;
  Qkey qkey{};
  Qpn qpn{};
  std::uint32_t local_eecn = 0;  // 24 bits
  Psn starting_psn{};
  std::uint8_t responder_resources = 0, initiator_depth = 0;
  std::uint8_t target_ack_delay = 0, failover_accepted = 0;  // 5 and 2 bits
  bool flow_control = false;
  std::uint8_t rnr_retry_count = 0;  // 3 bits
  bool srq = false;
  std::uint64_t ca_guid = 0;
  std::array<std::byte, 196> private_data{};
  friend constexpr bool operator==(const CmRep&, const CmRep&) = default;

  static constexpr CmRep decode(std::span<const std::byte, kBytes> b) {
    return {.local_id = get<std::uint32_t, 0>(b),
            .remote_id = get<std::uint32_t, 4>(b),
            .qkey = Qkey(get<std::uint32_t, 8>(b)),
            .qpn = Qpn(get24<12>(b)),
            .local_eecn = get24<16>(b),
            .starting_psn = Psn(get24<20>(b)),
            .responder_resources = get<std::uint8_t, 24>(b),
            .initiator_depth = get<std::uint8_t, 25>(b),
            .target_ack_delay = bits<3, 5>(get<std::uint8_t, 26>(b)),
            .failover_accepted = bits<1, 2>(get<std::uint8_t, 26>(b)),
            .flow_control = bits<0, 1>(get<std::uint8_t, 26>(b)) != 0,
            .rnr_retry_count = bits<5, 3>(get<std::uint8_t, 27>(b)),
            .srq = bits<4, 1>(get<std::uint8_t, 27>(b)) != 0,
            .ca_guid = get<std::uint64_t, 28>(b),
            .private_data = get_array<36, 196>(b)};
  }
  constexpr void encode(std::span<std::byte, kBytes> b) const {
    put<std::uint32_t, 0>(b, local_id);
    put<std::uint32_t, 4>(b, remote_id);
    put<std::uint32_t, 8>(b, qkey.raw());
    put<std::uint32_t, 12>(b, qpn.raw() << 8);
    put<std::uint32_t, 16>(b, local_eecn << 8);
    put<std::uint32_t, 20>(b, starting_psn.raw() << 8);
    put<std::uint8_t, 24>(b, responder_resources);
    put<std::uint8_t, 25>(b, initiator_depth);
    put_byte<26>(b, place_bits<3, 5>(target_ack_delay) | place_bits<1, 2>(failover_accepted) | flow_control);
    put_byte<27>(b, place_bits<5, 3>(rnr_retry_count) | place_bits<4, 1>(srq));
    put<std::uint64_t, 28>(b, ca_guid);
    put_array<36>(b, private_data);
  }
};

struct CmRtu {
  static constexpr std::size_t kBytes = kMadDataBytes;
  static constexpr std::uint16_t kAttribute = 0x14;

  std::uint32_t local_id = 0, remote_id = 0;
  std::array<std::byte, 224> private_data{};
  friend constexpr bool operator==(const CmRtu&, const CmRtu&) = default;

  static constexpr CmRtu decode(std::span<const std::byte, kBytes> b) {
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
