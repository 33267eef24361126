// Two devices with a wire without a kernel between them, and queue pairs connected across it.
#pragma once

#include <cassert>
#include <cstdint>

#include "world/direct/endpoint.h"

namespace weft::direct {

// A fixed sequence: where nobody attacks, numbers need not be secret, only the same in every run.
class FixedNumbers final : public host::RandomSource {
 public:
  std::uint64_t next() override {
    state_ += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    return z ^ (z >> 27);
  }

 private:
  std::uint64_t state_ = 1;
};

class Pair {
 public:
  explicit Pair(const host::DeviceConfig& config, Icrc icrc)
      : a_(with_address(config, 1), numbers_, back_, there_, icrc),
        b_(with_address(config, 2), numbers_, there_, back_, icrc) {}

  [[nodiscard]] host::Device& a() { return a_.device(); }
  [[nodiscard]] host::Device& b() { return b_.device(); }

  // Brings both to RTS, each other's peer. Nothing is lost on this wire, so nobody waits for a timeout.
  void connect(host::QueuePair& qa, host::QueuePair& qb, nic::Rights rights) {
    bring_up(qa, address(2), qb.qpn(), rights);
    bring_up(qb, address(1), qa.qpn(), rights);
  }
  // One round: each end hears its doorbells, takes what has arrived and sends what it has.
  void drive() {
    a_.drive(0);
    b_.drive(0);
  }
  // The next packet that a sends does not arrive.
  void lose_next_of_a() { there_.lose_next(); }
  [[nodiscard]] std::uint64_t lost() const { return there_.lost() + back_.lost(); }

 private:
  static wire::Address address(std::uint8_t n) { return wire::Address::v4(10, 0, 0, n); }
  static host::DeviceConfig with_address(host::DeviceConfig config, std::uint8_t n) {
    config.gids = {address(n)};
    return config;
  }
  static void bring_up(host::QueuePair& qp, const wire::Address& peer, wire::Qpn peer_qpn, nic::Rights rights) {
    using M = host::QpMask;
    host::QpAttributes a;
    a.rights = rights;
    a.peer = peer;
    a.peer_qpn = peer_qpn;
    a.mtu = 4096;
    a.max_reads = a.max_peer_reads = 16;
    a.ack_timeout = 0;
    const auto go = [&](nic::QpState to, std::uint32_t mask) {
      a.state = to;
      [[maybe_unused]] const host::Error e = qp.modify(a, M::state | mask);
      assert(e == host::Error::none);
    };
    go(nic::QpState::init, M::pkey_index | M::port | M::rights);
    go(nic::QpState::rtr, M::path | M::mtu | M::peer_qpn | M::receive_psn | M::max_peer_reads | M::min_rnr_timer);
    go(nic::QpState::rts, M::ack_timeout | M::retry_count | M::rnr_retry | M::max_reads | M::send_psn);
  }

  FixedNumbers numbers_;
  FrameRing there_{128}, back_{128};
  Endpoint a_, b_;
};

}  // namespace weft::direct
