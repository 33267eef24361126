// A queue pair: one end of a connection, or a place for datagrams to come from and go to.
//
// It starts in RESET. Programs that can tell each other 22 bytes connect in one call; the steps below it are for those
// who want them:
//
//   const Endpoint mine = qp.endpoint();           // tell the peer
//   qp.connect(theirs);                            // RESET -> INIT -> RTR -> RTS
//
// Posting neither allocates nor waits. Work of one queue pair starts and completes in the order of posting.
#pragma once

#include <cstdint>

#include "weft/bytecode.h"
#include "weft/completion_queue.h"
#include "weft/handle.h"
#include "weft/shared_receive_queue.h"
#include "weft/types.h"
#include "weft/work.h"

namespace weft::host {
class QueuePair;
}

namespace weft {

struct QueuePairLimits {
  std::uint32_t send_entries = 16, receive_entries = 16;  // work posted and not complete; rounded up to a power of two
  std::uint32_t send_sges = 1, receive_sges = 1;          // elements of one work request
  std::uint32_t inline_bytes = 0;
};

// The queues must be of the same device, the shared receive queue of the same domain, and all outlive the queue pair.
struct QueuePairOptions {
  Service service = Service::rc;
  QueuePairLimits limits{};
  const CompletionQueue* send_cq = nullptr;
  const CompletionQueue* receive_cq = nullptr;  // nullptr: completions of both go to send_cq
  const SharedReceiveQueue* srq = nullptr;      // RC and UD: receives are taken from here
  bool signal_all = false;                      // all work completes loudly, whatever it says
  StarRole role = StarRole::none;               // RC only; a stateless one has no shared receive queue
  // RC without a role: the peer may call this device's kernels (weft/kernel.h), so many at once, at most 1024; and this
  // program may call the peer's.
  std::uint32_t serves_calls = 0;
  bool calls = false;
  // RC without a role: so many local calls at once (Verb::local_rpc), at most 1024; what they send may go this way.
  std::uint32_t local_calls = 0;
};

enum class QpState : std::uint8_t {
  reset,
  init,                // receives may be posted
  ready_to_receive,    // RTR
  ready_to_send,       // RTS
  send_queue_drained,  // SQD: what was sent comes to its end, new work waits
  send_queue_error,    // SQE: UC and UD; receives go on
  error,               // all work comes back flushed
};
[[nodiscard]] std::string_view text(QpState state);

// What the peer must know to connect.
struct Endpoint {
  Address address{};
  Qpn qpn{};
  Psn psn{};  // of the first packet from here
};

struct Path {
  Address peer{};
  std::uint8_t gid_index = 0;  // which address of ours to use
  std::uint8_t traffic_class = 0, hop_limit = 64;
  std::uint16_t udp_source_port = 0;  // 0: made from the queue pair numbers
};

struct InitAttributes {
  Access access = Access::none;  // RC and UC: what the peer may do, where a region lets it
  Qkey qkey{};                   // UD: what datagrams must know
};

// UD needs nothing of it, UC only the first four.
struct ReadyToReceiveAttributes {
  Path path{};
  Qpn peer_qpn{};
  Psn receive_psn{};                // the first that the peer will send
  std::uint16_t mtu = 1024;         // bytes of payload in a packet: 256, 512, 1024, 2048, 4096
  std::uint8_t max_peer_reads = 1;  // READs and atomics of the peer under way at once
  std::uint8_t min_rnr_timer = 12;  // how long the peer waits for a receive: 12 is 0.64 ms; IBA table 45, 0 ... 31
};

// Only RC has more than the first.
struct ReadyToSendAttributes {
  Psn send_psn{};
  std::uint8_t ack_timeout = 14;  // 4.096 us * 2^n, 1 ... 31; 0: waits for ever
  std::uint8_t retry_count = 7;   // 0 ... 7
  std::uint8_t rnr_retry = 7;     // 0 ... 6; 7: for ever
  std::uint8_t max_reads = 1;     // READs and atomics of ours under way at once: at most the peer's max_peer_reads
};

struct ConnectOptions {
  Access access = kRemoteAccess;
  Qkey qkey{};
  std::uint16_t mtu = 1024;
  std::uint8_t max_reads = 16;  // in either direction
  std::uint8_t min_rnr_timer = 12, ack_timeout = 14, retry_count = 7, rnr_retry = 7;
  std::uint8_t gid_index = 0, traffic_class = 0, hop_limit = 64;
};

// All attributes, for modify() by mask and query(). In modify only those count that the mask names.
struct QpAttributes {
  QpState state{}, current_state{};
  Access access{};
  Path path{};
  std::uint16_t mtu = 1024;
  Qpn peer_qpn{};
  Psn receive_psn{}, send_psn{};
  Qkey qkey{};
  std::uint16_t pkey_index = 0;
  std::uint8_t port = 1;
  std::uint8_t ack_timeout = 14, retry_count = 7, rnr_retry = 7, min_rnr_timer = 12;
  std::uint8_t max_reads = 1, max_peer_reads = 1;
  bool drain_notify = false, draining = false;
};

// Bit for bit the attribute mask of libibverbs.
enum class QpMask : std::uint32_t {
  none = 0,
  state = 1 << 0,
  current_state = 1 << 1,
  drain_notify = 1 << 2,
  access = 1 << 3,
  pkey_index = 1 << 4,
  port = 1 << 5,
  qkey = 1 << 6,
  path = 1 << 7,
  mtu = 1 << 8,
  ack_timeout = 1 << 9,
  retry_count = 1 << 10,
  rnr_retry = 1 << 11,
  receive_psn = 1 << 12,
  max_reads = 1 << 13,
  alternate_path = 1 << 14,
  min_rnr_timer = 1 << 15,
  send_psn = 1 << 16,
  max_peer_reads = 1 << 17,
  migration = 1 << 18,
  capabilities = 1 << 19,
  peer_qpn = 1 << 20,
};
constexpr QpMask operator|(QpMask a, QpMask b) {
  return static_cast<QpMask>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}

class QueuePair : public detail::Handle<QueuePair, host::QueuePair*> {
 public:
  static constexpr std::string_view kName = "queue pair";
  QueuePair() = default;

  // -- work --
  // Queue full: poll completions first. Work in an error state is taken, and comes back flushed.
  [[nodiscard]] Result<> post(const WorkRequest& request);
  [[nodiscard]] Result<> post_receive(const ReceiveRequest& request);

  // -- who may deploy kernels from the other side --
  // The peer, with the key that this returns, if this queue pair serves calls; it replaces an earlier one. What was
  // deployed stays when the peer may no longer.
  [[nodiscard]] Result<weft_deployment_key> allow_deployment(const weft_deployment_rights& rights);
  [[nodiscard]] Result<> forbid_deployment();

  // -- state; a refused call changes nothing --
  // From RESET to RTS. UD needs no endpoint.
  [[nodiscard]] Result<> connect(const Endpoint& peer, const ConnectOptions& options = {});
  [[nodiscard]] Result<> to_init(const InitAttributes& attributes);
  [[nodiscard]] Result<> to_ready_to_receive(const ReadyToReceiveAttributes& attributes);
  [[nodiscard]] Result<> to_ready_to_send(const ReadyToSendAttributes& attributes);
  // Stops sending once what is under way is done; Event::sq_drained tells, if asked to.
  [[nodiscard]] Result<> to_send_queue_drained(bool notify = false);
  [[nodiscard]] Result<> back_to_ready_to_send();  // from SQD or SQE
  [[nodiscard]] Result<> to_error();
  [[nodiscard]] Result<> to_reset();  // as new; what was posted is gone, its completions as well
  [[nodiscard]] Result<> modify(const QpAttributes& attributes, QpMask mask);

  [[nodiscard]] QpState state() const;
  [[nodiscard]] QpAttributes query() const;
  [[nodiscard]] Reason broken_by() const;  // the first rule that was broken, if any was
  [[nodiscard]] Qpn qpn() const;
  [[nodiscard]] Service service() const;
  [[nodiscard]] QueuePairLimits limits() const;  // at least what was asked for
  // Its first PSN was drawn when the queue pair was made.
  [[nodiscard]] Endpoint endpoint(std::uint8_t gid_index = 0) const;

 private:
  friend class detail::Handle<QueuePair, host::QueuePair*>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, host::QueuePair* qp);
  Psn first_psn_{};
};

// Connects two queue pairs of this process with each other.
[[nodiscard]] Result<> connect(QueuePair& a, QueuePair& b, const ConnectOptions& options = {});

}  // namespace weft
