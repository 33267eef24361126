// What a run does, as data: hosts, connections, and on each what either side posts, in program order. One description
// serves the fault matrix, the swarm and the reference model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include "support/bed.h"

namespace weft::test {

// The remote key of steps that shall be refused.
inline constexpr wire::Key kWrongKey{0xBAD};

struct ReceiveStep {
  std::vector<Piece> local{};
  Time pause = 0;  // before it is posted: a receiver that is not ready in time
};

// One direction of a connection: what its sender posts and what the other side posts to receive it.
//
// The n-th SEND with invalidate closes the n-th type 2 window of `windows` that the receiver has bound beforehand. A
// bind_window opens the next of the sender's own windows, local_invalidate closes the oldest of them that is open.
//
// A step with a remote key of its own has a wrong one: the receiver refuses it and breaks off.
struct Lane {
  std::vector<Step> steps{};
  std::vector<ReceiveStep> receives{};  // unused when the receiver has a shared receive queue
  std::uint32_t windows = 0;
  Time start = 1;  // receives that are not late are posted before
};

// What else is done to a queue pair while it works; kNever: not at all.
struct Interference {
  Time drain_at = kNever, resume_at = kNever;  // its send queue is drained for a while: nothing may change
  Time break_at = kNever;                      // it is put into ERROR
};

// One side asks its peer to move (Bed::move).
struct MoveStep {
  Time when = 0;
  std::size_t side = 0;
  host::StarRole role{};
};

struct Channel {
  std::array<std::size_t, 2> hosts{0, 1};
  std::array<QpSpec, 2> qps{};
  std::array<bool, 2> uses_srq{};
  std::array<Interference, 2> interferences{};
  std::vector<MoveStep> moves{};
  std::array<Lane, 2> lanes{};  // lane 0 is from side 0 to side 1
};

struct Program {
  BedSpec bed{};
  std::vector<Channel> channels{};
  std::vector<std::vector<ReceiveStep>> shared{};  // by host; a host with any has a shared receive queue
  std::uint32_t srq_entries = 16;
  Time control_delay = 0;          // of srnic's control queues, each way
  bool may_time_out = false;       // the network may lose or delay enough to exhaust retries
  bool may_miss_receives = false;  // receivers may come too late for the RNR retries
};

// In words, a line for each step.
std::ostream& operator<<(std::ostream& out, const Program& program);

// Steps and receives are known by these ids: which lane (channel and direction) and the place in it.
constexpr std::uint64_t lane_id(std::size_t channel, std::size_t direction, std::size_t place) {
  return std::uint64_t{channel} << 40 | std::uint64_t{direction} << 32 | place;
}
constexpr std::uint64_t shared_id(std::size_t host, std::size_t place) {
  return std::uint64_t{1} << 60 | std::uint64_t{host} << 32 | place;
}
constexpr bool is_shared(std::uint64_t id) { return (id >> 60) == 1; }
constexpr std::size_t place_of(std::uint64_t id) { return static_cast<std::uint32_t>(id); }

// Do its reliable connections speak StaR, at times?
[[nodiscard]] inline bool speaks_star(const Program& p) { return p.bed.moves || p.bed.dialect == nic::Dialect::star; }

constexpr bool consumes_receive(nic::WorkKind k) {
  return k == nic::WorkKind::send || k == nic::WorkKind::send_immediate || k == nic::WorkKind::send_invalidate ||
         k == nic::WorkKind::write_immediate;
}

constexpr bool is_receive(const nic::Completion& c) {
  return c.kind == nic::CompletionKind::receive || c.kind == nic::CompletionKind::receive_write_immediate;
}

// What one end of a connection looks like when all is over.
struct EndState {
  wire::Qpn qpn{};
  nic::QpState state{};
  std::uint32_t sends_left = 0, receives_left = 0;
  bool drained_too_early = false;     // said to be drained with something under way
  std::vector<wire::Key> windows{};   // bound for the lane towards this end,
  std::vector<bool> windows_bound{};  //   and whether they still are
};

struct Outcome {
  bool at_rest = false;
  std::vector<std::vector<std::byte>> arenas{};       // by host
  std::vector<std::vector<nic::Completion>> logs{};   // by host, in the order in which they became visible
  std::vector<std::array<EndState, 2>> ends{};        // by channel
  std::uint64_t packets = 0;                          // sent by all hosts together
  std::size_t recovery_bytes = 0, reorder_notes = 0;  // srnic: still held by all hosts together
  nic::Counters counters{};                           // of all hosts together
  std::uint32_t changes = 0, moves_refused = 0;       // of sides of connections that moved
  sim::FaultCounters faults{};
  std::uint64_t digest = 0;
};

// With a sink, one line for every packet, completion and event.
[[nodiscard]] Outcome run(const Program& program, std::ostream* sink = nullptr);

// The same but for `when`.
[[nodiscard]] bool same_content(const nic::Completion& a, const nic::Completion& b);

}  // namespace weft::test
