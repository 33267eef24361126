// What goes into the connection manager from its user, and what comes out: datagrams to send and events.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "cm/codes.h"
#include "wire/ip_cm.h"
#include "wire/mad.h"
#include "wire/types.h"

namespace weft::cm {

using Id = std::uint32_t;  // communication id; the most significant byte is the program's (ManagerSettings::id_prefix)
using ListenerId = std::uint32_t;  // 0 is none

// Where chance comes from is the caller's business: the system, or a seed.
class RandomNumbers {
 public:
  virtual ~RandomNumbers() = default;
  virtual std::uint64_t next() = 0;
};

// One side's queue pair, as REQ and REP describe it. In events the two depths are already seen from this side:
// `responder_resources` is what this side should hold, `initiator_depth` what it may have outstanding.
struct QpParameters {
  wire::Qpn qpn{};
  // IBA 12.7.31: the sequence number at which the *other* side begins to send.
  wire::Psn starting_psn{};
  std::uint8_t responder_resources = 0, initiator_depth = 0, retry_count = 0, rnr_retry_count = 0;
  bool flow_control = false, srq = false;
};

// The way between the two, the same for both.
struct Path {
  wire::Address local{}, remote{};
  std::uint8_t mtu = 0;           // 1 = 256 bytes ... 5 = 4096
  std::uint8_t ack_timeout = 14;  // exponent; also how long a finished connection is remembered
  std::uint8_t traffic_class = 0, hop_limit = 64;
  std::uint32_t flow_label = 0;
};

struct ConnectCall {
  Path path;
  std::uint64_t service_id = 0;
  wire::IpCmHeader addresses;
  bool unreliable = false;  // UC
  QpParameters side;
  std::span<const std::byte> private_data;  // at most kRequestData
};

struct ServiceCall {
  Path path;
  std::uint64_t service_id = 0;
  wire::IpCmHeader addresses;
  std::span<const std::byte> private_data;  // at most kServiceRequestData
};

struct ServiceAnswer {
  std::uint8_t status = 0;
  wire::Qpn qpn{};
  wire::Qkey qkey{};
  std::span<const std::byte> private_data;  // at most kServiceAnswerData
};

enum class Happening : std::uint8_t {
  request,          // to a listener: somebody wants to connect; accept() or reject() `id`
  response,         // to who connects: the other side is ready; bring the queue pair up and call ready()
  established,      // to who accepted
  rejected,         // `reason` says why; the connection is over
  unreachable,      // no answer
  disconnected,     // `reason` 0: by one of the two; kTimeout: this side asked and nobody answered
  timewait_over,    // nothing of the old connection can arrive any more
  service_request,  // to a listener, for datagrams; answer_service() `id`
  service_answer,   // to who asked: `reason` is the status, `peer.qpn` and `qkey` where to send
};

struct CmEvent {
  Happening what{};
  Id id = 0;
  ListenerId listener = 0;
  std::uint16_t reason = 0;
  QpParameters peer{};
  Path path{};  // of requests: seen from this side
  bool unreliable = false;
  std::uint64_t service_id = 0;
  wire::IpCmHeader addresses{};
  wire::Qkey qkey{};
  std::uint8_t private_bytes = 0;
  std::array<std::byte, kMaxPrivateData> private_data{};
};

struct Datagram {
  wire::Address from{}, to{};
  std::array<std::byte, wire::kMadBytes> bytes{};
};

struct ManagerEffects {
  std::vector<Datagram> datagrams;
  std::vector<CmEvent> events;
};

}  // namespace weft::cm
