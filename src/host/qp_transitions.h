// Which way a queue pair may go, and with which attributes: IBA 11.2.5.2 (table 91) as a table. What is not in
// it is refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/error.h"
#include "nic/context.h"
#include "wire/opcode.h"

namespace weft::host {

// Bit for bit the attribute mask of verbs.
struct QpMask {
  static constexpr std::uint32_t state = 1 << 0, current_state = 1 << 1, drain_notify = 1 << 2, rights = 1 << 3,
                                 pkey_index = 1 << 4, port = 1 << 5, qkey = 1 << 6, path = 1 << 7, mtu = 1 << 8,
                                 ack_timeout = 1 << 9, retry_count = 1 << 10, rnr_retry = 1 << 11,
                                 receive_psn = 1 << 12, max_reads = 1 << 13, alternate_path = 1 << 14,
                                 min_rnr_timer = 1 << 15, send_psn = 1 << 16, max_peer_reads = 1 << 17,
                                 migration = 1 << 18, capabilities = 1 << 19, peer_qpn = 1 << 20, all = (1 << 21) - 1;
};

struct Transition {
  bool valid = false;
  std::uint32_t required = 0, optional = 0;
};

inline constexpr std::size_t kQpStates = 7;
using TransitionTable = std::array<std::array<Transition, kQpStates>, kQpStates>;

constexpr TransitionTable transitions_of(wire::Service service) {
  using S = nic::QpState;
  using M = QpMask;
  const bool ud = service == wire::Service::ud, rc = service == wire::Service::rc;
  TransitionTable t{};
  const auto set = [&t](S from, S to, std::uint32_t required, std::uint32_t optional) {
    t[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = {true, required, optional};
  };
  for (const S from : {S::reset, S::init, S::rtr, S::rts, S::sqd, S::sqe, S::error}) {
    set(from, S::reset, 0, 0);
    if (from != S::reset) set(from, S::error, 0, 0);
  }
  const std::uint32_t identity = M::pkey_index | M::port | (ud ? M::qkey : M::rights);
  set(S::reset, S::init, identity, 0);
  set(S::init, S::init, 0, identity);
  const std::uint32_t connect = M::path | M::mtu | M::peer_qpn | M::receive_psn;
  const std::uint32_t reconfigure = ud ? M::qkey : M::alternate_path | M::rights;
  set(S::init, S::rtr,
      ud   ? 0
      : rc ? connect | M::max_peer_reads | M::min_rnr_timer
           : connect,
      reconfigure | M::pkey_index);
  const std::uint32_t reliable = M::ack_timeout | M::retry_count | M::rnr_retry | M::max_reads;
  const std::uint32_t live = M::current_state | reconfigure | (ud ? 0U : +M::migration) | (rc ? +M::min_rnr_timer : 0U);
  set(S::rtr, S::rts, M::send_psn | (rc ? reliable : 0), live);
  set(S::rts, S::rts, 0, live);
  set(S::rts, S::sqd, 0, M::drain_notify);
  set(S::sqd, S::rts, 0, live);
  set(S::sqd, S::sqd, 0,
      reconfigure | M::pkey_index | (ud ? 0U : M::path | M::migration) |
          (rc ? M::port | reliable | M::max_peer_reads | M::min_rnr_timer : 0));
  if (!rc) set(S::sqe, S::rts, 0, M::current_state | (ud ? M::qkey : M::rights));
  return t;
}

inline constexpr TransitionTable kRcTransitions = transitions_of(wire::Service::rc);
inline constexpr TransitionTable kUcTransitions = transitions_of(wire::Service::uc);
inline constexpr TransitionTable kUdTransitions = transitions_of(wire::Service::ud);

// May a queue pair of this service go from here to there with these attributes (the state itself not counted)?
constexpr Error judge_transition(wire::Service service, nic::QpState from, nic::QpState to, std::uint32_t mask) {
  if (static_cast<std::size_t>(to) >= kQpStates) return Error::invalid_argument;  // a program's number, no state
  const TransitionTable& table = service == wire::Service::rc   ? kRcTransitions
                                 : service == wire::Service::uc ? kUcTransitions
                                                                : kUdTransitions;
  const Transition& t = table[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  const std::uint32_t given = mask & ~QpMask::state;
  if (!t.valid) return Error::bad_transition;
  if ((given & t.required) != t.required) return Error::missing_attribute;
  if ((given & ~(t.required | t.optional)) != 0) return Error::extra_attribute;
  return Error::none;
}

}  // namespace weft::host
