// Lanes of one process that talk to each other through the real kernel: what a test of the real world needs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "support/patience.h"
#include "world/real/lane/lane.h"

namespace weft::real {

// Settings of a lane that needs no more than a few queue pairs.
inline Settings small_lane_at(const wire::Address& address) {
  Settings s;
  s.addresses = {address};
  s.max_qps = 16;
  return s;
}

struct Nobody final : LaneOwner {
  void on_completion_event(std::uint32_t) override {}
  void on_async_event() override {}
  void on_mad(const wire::Address&, const wire::Address&, std::span<const std::byte>) override {}
};

class TestLane final : public LaneOwner {
 public:
  explicit TestLane(const Settings& settings) : memory(1 << 20), lane(settings, *this) {
    const auto attached = lane.attach();
    EXPECT_TRUE(attached.has_value()) << (attached ? "" : attached.error().what);
    const std::lock_guard guard(lane.lock());
    domain = lane.device().create_domain().value();
    cq = lane.device().create_cq(4096).value();
    key = lane.device()
              .register_region(domain, {.memory = memory.data(),
                                        .length = memory.size(),
                                        .address = 0,
                                        .rights = nic::Rights::local_write | nic::Rights::remote_write |
                                                  nic::Rights::remote_read | nic::Rights::remote_atomic})
              .value();
  }
  void on_completion_event(std::uint32_t) override { ++completion_events; }
  void on_async_event() override { ++async_events; }
  void on_mad(const wire::Address&, const wire::Address&, std::span<const std::byte>) override {}

  host::QueuePair* make_qp(wire::Service service = wire::Service::rc) {
    const std::lock_guard guard(lane.lock());
    return lane.device()
        .create_qp(domain, {.service = service,
                            .signal_all = true,
                            .limits = {.send_entries = 256, .receive_entries = 256},
                            .send_cq = cq,
                            .receive_cq = cq})
        .value();
  }
  void connect(host::QueuePair& qp, const wire::Address& peer, wire::Qpn peer_qpn, std::uint8_t gid_index = 0,
               std::uint8_t ack_timeout = 14) {
    const std::lock_guard guard(lane.lock());
    connect_with_lock_held(qp, peer, peer_qpn, gid_index, ack_timeout);
  }
  void connect_with_lock_held(host::QueuePair& qp, const wire::Address& peer, wire::Qpn peer_qpn,
                              std::uint8_t gid_index = 0, std::uint8_t ack_timeout = 14) {
    using M = host::QpMask;
    host::QpAttributes a;
    a.rights = nic::Rights::remote_write | nic::Rights::remote_read | nic::Rights::remote_atomic;
    a.peer = peer;
    a.peer_qpn = peer_qpn;
    a.gid_index = gid_index;
    a.mtu = 4096;
    a.ack_timeout = ack_timeout;
    a.max_reads = a.max_peer_reads = 16;
    const auto go = [&](nic::QpState to, std::uint32_t mask) {
      a.state = to;
      ASSERT_EQ(qp.modify(a, M::state | mask), host::Error::none);
      lane.rang();
    };
    go(nic::QpState::init, M::pkey_index | M::port | M::rights);
    go(nic::QpState::rtr, M::path | M::mtu | M::peer_qpn | M::receive_psn | M::max_peer_reads | M::min_rnr_timer);
    go(nic::QpState::rts, M::ack_timeout | M::retry_count | M::rnr_retry | M::max_reads | M::send_psn);
  }
  void write(host::QueuePair& qp, std::uint64_t from, std::uint32_t bytes, std::uint64_t to, wire::Key remote) {
    const std::lock_guard guard(lane.lock());
    const nic::Sge sge{from, bytes, key};
    ASSERT_EQ(
        qp.post_send({.kind = nic::WorkKind::write, .sges = {&sge, 1}, .remote_address = to, .remote_key = remote}),
        host::Error::none);
    lane.rang();
  }
  std::vector<nic::Completion> poll(bool drive = true) {
    std::vector<nic::Completion> out(64);
    const std::lock_guard guard(lane.lock());
    if (drive) lane.polled();
    std::uint32_t n = cq->poll(out);
    if (n == 0 && drive) {
      lane.poll();
      n = cq->poll(out);
    }
    out.resize(n);
    return out;
  }
  // Is this what peers have written there? It may have been the lane's thread that put it there; to a sanitizer, which
  // knows nothing of the way over the wire, the lock is what lies between that and us.
  [[nodiscard]] bool holds(std::size_t at, const void* what, std::size_t bytes) {
    const std::lock_guard guard(lane.lock());
    return std::memcmp(memory.data() + at, what, bytes) == 0;
  }
  // One completion.
  nic::Completion wait(bool drive = true) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMilliseconds);
    while (std::chrono::steady_clock::now() < until) {
      if (const auto got = poll(drive); !got.empty()) return got.front();
    }
    ADD_FAILURE() << "no completion";
    return {};
  }

  std::vector<std::byte> memory;
  Lane lane;
  host::Domain domain{};
  host::CompletionQueue* cq = nullptr;
  wire::Key key{};
  int completion_events = 0, async_events = 0;
};

inline nic::Dialect dialect_of(TestLane& lane, const host::QueuePair& qp) {
  const std::lock_guard guard(lane.lane.lock());
  return qp.context().dialect;
}

}  // namespace weft::real
