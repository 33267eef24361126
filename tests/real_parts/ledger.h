// What was to be sent, and what has become of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/queue_pair.h"
#include "real_parts/spec.h"

namespace weft::scene {

struct Place {
  std::size_t lane = 0, offset = 0;
};

struct Message {
  enum class State : std::uint8_t { unposted, posted, succeeded, failed };

  MessageSpec spec{};
  std::uint64_t seed = 0;  // of its bytes
  Place source{}, target{};
  wire::Key source_key{};
  State state = State::unposted;
  bool delivered = false;  // the receiver has been told

  [[nodiscard]] bool consumes_receive() const {
    return spec.kind == nic::WorkKind::send_immediate || spec.kind == nic::WorkKind::write_immediate;
  }
  // All of it has arrived, as somebody was told: its target does not change any more.
  [[nodiscard]] bool is_settled() const { return delivered || state == State::succeeded; }
};

// One end of a connection.
struct Side {
  std::size_t lane = 0;
  host::QueuePair* qp = nullptr;  // nullptr: destroyed
  std::vector<Message> out{};     // that this side posts
  std::size_t posted = 0, completed = 0;
  std::vector<std::size_t> takes{};  // those of the other side's messages that take a receive of this side
  std::size_t receives_posted = 0, received = 0;
  bool broken = false;
  // With which errors its work may end.
  bool may_lose_peer = false;    // the peer does not answer any more
  bool may_lose_memory = false;  // a region of its own is gone
};

struct Connection {
  ConnectionSpec spec{};
  std::array<Side, 2> sides{};
  [[nodiscard]] bool may_fail() const {
    return sides[0].may_lose_peer || sides[0].may_lose_memory || sides[1].may_lose_peer || sides[1].may_lose_memory ||
           sides[0].qp == nullptr || sides[1].qp == nullptr;
  }
};

struct Ledger {
  std::vector<Connection> connections{};
  std::vector<wire::Key> arena_keys{};  // by lane: what peers write to and read from
  std::vector<wire::Key> other_keys{};  // by lane: the same memory once more, which no message names
};

// Who completes.
struct WorkId {
  std::size_t connection = 0, side = 0, index = 0;
  bool is_receive = false;
  [[nodiscard]] std::uint64_t raw() const {
    return std::uint64_t{connection} << 32 | std::uint64_t{side} << 24 | (is_receive ? 1U << 23 : 0U) | index;
  }
  static WorkId of(std::uint64_t raw) { return {raw >> 32, raw >> 24 & 0xFF, raw & 0x7F'FFFF, (raw >> 23 & 1) != 0}; }
};

}  // namespace weft::scene
