// A test bed: a simulated world whose hosts have what every test needs: a domain, a completion queue, an arena of
// registered memory filled from the seed, and queue pairs that are connected in one call.
//
//   Bed bed({.seed = 7});
//   auto [a, b] = bed.connect({.mtu = 256});
//   b.receive(1, {{0, 512}});                                      // into bytes 0...511 of b's arena
//   a.post({.id = 2, .kind = nic::WorkKind::send, .local = {{0, 512}}});
//   bed.run();                                                     // until nothing will ever happen again
//   bed.drain(a.node()) ...                                        // completions, in order
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "world/sim/world.h"

namespace weft::test {

inline constexpr nic::Rights kEveryRight = nic::Rights::local_write | nic::kRemoteRights | nic::Rights::bind_window;

// Part of a host's arena.
struct Piece {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

// A small card: its tables are cheap to make, so a test may make thousands of worlds.
inline constexpr nic::CardConfig kSmallCard{.max_qps = 16,
                                            .max_cqs = 8,
                                            .max_srqs = 4,
                                            .region_slot_bits = 6,
                                            .reorder_notes = 256,
                                            .retry_rings = 16,
                                            .star_recent = 256};

// What reliable connections of tests speak that do not say: roce, or srnic if WEFT_TEST_DIALECT says so. Suites that
// hold for both run once with each.
[[nodiscard]] nic::Dialect usual_dialect() noexcept;
// In StaR: WEFT_TEST_DIALECT is star_first, and not star.
[[nodiscard]] bool usual_first_is_stateless() noexcept;
// How much of a message may travel as one, where tests do not say: nothing, or what WEFT_TEST_BURSTS says.
[[nodiscard]] std::uint32_t usual_burst_bytes() noexcept;
// Likewise with its payload left behind until it is placed: WEFT_TEST_ONE_COPY.
[[nodiscard]] std::uint32_t usual_one_copy_bytes() noexcept;

// Connections may move to StaR and back while they run: WEFT_TEST_MOVES.
[[nodiscard]] bool usual_moves() noexcept;

struct BedSpec {
  std::uint64_t seed = 1;
  std::uint32_t hosts = 2;
  sim::LinkSpec link{.bits_per_second = 100'000'000'000, .delay = microseconds(1)};
  std::uint64_t bottleneck = 0;  // bits a second of the links from a switch to the hosts; 0: as fast as the others
  nic::CardConfig card = kSmallCard;
  nic::Dialect dialect = usual_dialect();
  bool moves = usual_moves();                            // Bed::move may be called
  std::uint32_t stateless = 64;                          // StaR's stateless queue pairs on a host, at most
  bool first_is_stateless = usual_first_is_stateless();  // in StaR; otherwise all hosts but the first are
  std::uint32_t burst_bytes = usual_burst_bytes(), one_copy_bytes = usual_one_copy_bytes();
  bool turns_first = usual_burst_bytes() != 0;  // as it is where bursts are: what is owed may travel with a message
  Time look_after = 0;                          // packets that have come within this time are looked at together
  std::uint16_t port_mtu = 4096;
  std::size_t arena_bytes = 64 * 1024;
  std::uint32_t cq_entries = 256;
};

// A bed whose reliable connections speak this dialect, for claims that hold in no other.
[[nodiscard]] inline BedSpec speaking(nic::Dialect dialect, BedSpec spec = {}) {
  spec.dialect = dialect;
  return spec;
}

// A queue pair and its side of a connection.
struct QpSpec {
  wire::Service service = wire::Service::rc;
  host::QpLimits limits{
      .send_entries = 64, .receive_entries = 64, .send_sges = 4, .receive_sges = 4, .inline_bytes = 256};
  bool signal_all = false;
  host::CompletionQueue* send_cq = nullptr;  // the host's own, if none is named
  host::CompletionQueue* receive_cq = nullptr;
  host::SharedReceiveQueue* srq = nullptr;
  std::uint16_t mtu = 1024;
  wire::Psn psn{100};            // of the first packet sent
  std::uint8_t ack_timeout = 8;  // 1.05 ms
  std::uint8_t retry_count = 7, rnr_retry = 7, min_rnr_timer = 1;
  std::uint8_t max_reads = 4, max_peer_reads = 4;
  std::uint8_t service_level = 0;
  nic::Rights rights = nic::kRemoteRights;
  wire::Qkey qkey{0x1234};
  std::uint32_t serves_calls = 0;  // of kernels, at once
  std::uint32_t local_calls = 0;   // of kernels of this host, at once
  bool may_call = false, wants_to_call = false;
};

// Work in terms of arenas: where its bytes are at home, and where they go in the peer's.
struct Step {
  std::uint64_t id = 0;
  nic::WorkKind kind = nic::WorkKind::send;
  std::vector<Piece> local{};
  std::uint64_t remote = 0;
  bool signaled = true, solicited = false, fence = false, is_inline = false;
  std::uint32_t immediate = 0;
  std::uint64_t compare_add = 0, swap = 0;
  wire::Key invalidate{};
  wire::Key remote_key{};          // 0: the peer's arena
  std::uint8_t service_level = 0;  // of datagrams
  nic::WindowBinding binding{};
  std::uint64_t opcode = 0;  // of the kernel that is called

  [[nodiscard]] std::uint32_t length() const;
};

// A host with its arena.
struct Node {
  Node(sim::Host& on, const BedSpec& spec);

  sim::Host& host;
  host::Domain domain;
  host::CompletionQueue* cq;
  sim::Memory arena;

  [[nodiscard]] host::Device& device() const { return host.device(); }
  [[nodiscard]] std::span<std::byte> bytes(Piece piece) const {
    return arena.bytes.subspan(piece.offset, piece.length);
  }
  [[nodiscard]] std::uint64_t& word(std::uint64_t offset) const;  // of eight bytes, for atomics
  [[nodiscard]] std::uint64_t counted(nic::Counter c) const { return host.counters().get(c); }
  [[nodiscard]] std::uint64_t counted(Refusal r) const { return host.counters().get(r); }
  [[nodiscard]] host::QueuePair& create_qp(const QpSpec& spec);
};

// One end of a connection.
class Endpoint {
 public:
  Endpoint(Node& node, host::QueuePair& qp, Node& peer, wire::Qpn peer_qpn)
      : node_(&node), qp_(&qp), peer_(&peer), peer_qpn_(peer_qpn) {}

  [[nodiscard]] Node& node() const { return *node_; }
  [[nodiscard]] Node& peer() const { return *peer_; }
  [[nodiscard]] host::QueuePair& qp() const { return *qp_; }
  [[nodiscard]] const nic::Context& context() const { return qp_->context(); }

  host::Error post(const Step& step) const;
  host::Error receive(std::uint64_t id, std::span<const Piece> pieces) const;
  host::Error receive(std::uint64_t id, std::initializer_list<Piece> pieces) const {
    return receive(id, std::span(pieces.begin(), pieces.size()));
  }
  host::Error go_to(nic::QpState state) const;  // by modify, with nothing but the state

 private:
  Node* node_;
  host::QueuePair* qp_;
  Node* peer_;
  wire::Qpn peer_qpn_;
};

struct Connection {
  Endpoint a, b;
};

// Takes both queue pairs from RESET to RTS.
Connection connect(Node& a, host::QueuePair& qa, Node& b, host::QueuePair& qb, const QpSpec& spec_a,
                   const QpSpec& spec_b);

class Moves;

class Bed {
 public:
  explicit Bed(const BedSpec& spec = {});
  ~Bed();

  [[nodiscard]] sim::World& world() { return world_; }
  [[nodiscard]] Node& node(std::size_t i) { return nodes_[i]; }
  [[nodiscard]] std::deque<Node>& nodes() { return nodes_; }

  // Queue pairs of the first two hosts, or of any two.
  Connection connect(const QpSpec& both = {}) { return connect(both, both); }
  Connection connect(const QpSpec& a, const QpSpec& b) { return connect(node(0), a, node(1), b); }
  Connection connect(Node& a, const QpSpec& spec_a, Node& b, const QpSpec& spec_b);

  // The end of a connection asks its peer to move: it wants to play this role, or to speak what it did before StaR.
  // What they say about it meets the weather of the links. False: it cannot move, or moves, or plays that role.
  bool move(const Endpoint& end, host::StarRole role);
  [[nodiscard]] Moves& moves() { return *moves_; }

  // True when nothing is left to happen, and nothing is left lying about.
  [[nodiscard]] bool run(Time limit = seconds(100'000));
  [[nodiscard]] Time now() const { return world_.now(); }

 private:
  sim::World world_;
  std::deque<Node> nodes_;
  std::unique_ptr<Moves> moves_;
};

// All completions that wait, in order.
std::vector<nic::Completion> drain(host::CompletionQueue& cq);
inline std::vector<nic::Completion> drain(const Node& node) { return drain(*node.cq); }
// All asynchronous events that wait, in order.
std::vector<nic::HostEvent> drain_events(const Node& node);

// What an arena is filled from before anything happens.
constexpr std::uint64_t arena_seed(std::uint64_t bed_seed, std::uint32_t host) { return bed_seed * 1'000'003 + host; }
// Bytes that depend on the seed and on their place, and never repeat in a way that would hide a mistake.
void fill(std::span<std::byte> bytes, std::uint64_t seed);

// Compiled with optimization, and quicker than == of vectors: whole arenas are compared after every run.
[[nodiscard]] bool same_memory(std::span<const std::byte> one, std::span<const std::byte> other);

}  // namespace weft::test
