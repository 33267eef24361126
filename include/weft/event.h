// What a device tells its program unasked. Plain values.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/types.h"

namespace weft {

struct Event {
  // clang-format off
  enum Kind : std::uint8_t {
    cq_error = 1,               // the completion queue overflowed
    qp_fatal, qp_request_error, qp_access_error,  // the queue pair broke
    communication_established,  // a packet came to a queue pair in RTR
    sq_drained,                 // the send queue has come to rest in SQD
    last_entry_reached,         // a queue pair with a shared receive queue is in ERROR and takes no more receives
    srq_limit_reached,          // fewer receives are left than the limit
    srq_error,
  };
  // clang-format on
  Kind kind{};
  Qpn qpn{};        // of qp_…, communication_established, sq_drained, last_entry_reached
  CqNumber cq{};    // of cq_error
  SrqNumber srq{};  // of srq_…
};

[[nodiscard]] std::string_view text(Event::Kind kind);

}  // namespace weft
