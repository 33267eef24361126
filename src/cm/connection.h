// What the connection manager remembers of one connection, or of one question for a datagram service.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "cm/event.h"

namespace weft::cm {

// IBA 12.9.5 and 12.9.6. The states of waiting longer (MRA) are those they prolong.
enum class State : std::uint8_t {
  request_sent,       // active: REQ is out
  response_received,  // active: REP is here, the user is bringing the queue pair up
  request_received,   // passive: the user has not decided
  response_sent,      // passive: REP is out
  established,
  disconnect_sent,
  timewait,
  rejected,          // by this side; remembered for a while, to say it again
  service_asked,     // SIDR_REQ is out
  service_received,  // the user has not answered
  service_answered,  // remembered for a while, to say it again
  over,              // only the user still knows the id
};

struct Connection {
  Id id = 0, peer_id = 0;
  State state{};
  bool active = false;
  bool owned = true;     // the user has not released it
  bool waiting = false;  // takes a place of the listener's backlog
  ListenerId listener = 0;
  Path path{};
  std::uint64_t service_id = 0, peer_guid = 0, transaction = 0;
  wire::Qpn qpn{}, peer_qpn{};
  std::uint8_t retries_left = 0, max_retries = 0;
  Time wait = 0;  // between repetitions
  Time deadline = kNever;
  Time began = 0;  // when the open question was first asked, by whichever side
  // What was said last and may have to be said again: for want of an answer, or because the question came again.
  std::array<std::byte, wire::kMadBytes> last{};
};

}  // namespace weft::cm
