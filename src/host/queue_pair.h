// The host's side of a queue pair: its rings, its state as programs see it, and posting to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/error.h"
#include "host/poster.h"
#include "host/qp_transitions.h"
#include "host/queues.h"
#include "host/ring_memory.h"
#include "host/work_request.h"
#include "nic/card_state.h"

namespace weft::host {

class Device;

struct QpLimits {
  std::uint32_t send_entries = 16, receive_entries = 16, send_sges = 1, receive_sges = 1, inline_bytes = 0;
};

struct QpOptions {
  wire::Service service = wire::Service::rc;
  bool signal_all = false;
  QpLimits limits{};
  CompletionQueue* send_cq = nullptr;
  CompletionQueue* receive_cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
};

// What modify and query speak of. Only the members that the mask names count.
struct QpAttributes {
  nic::QpState state{}, current_state{};
  nic::Rights rights{};  // what the peer may do
  wire::Address peer{};  // path
  std::uint8_t gid_index = 0, traffic_class = 0, hop_limit = 64;
  std::uint8_t service_level = 0;     // path too; 0 ... 15, what the card schedules by
  std::uint32_t flow_label = 0;       // IPv6
  std::uint16_t udp_source_port = 0;  // 0: chosen from the queue pair numbers
  std::uint16_t mtu = 1024;
  wire::Qpn peer_qpn{};
  wire::Psn receive_psn{}, send_psn{};
  wire::Qkey qkey{};
  std::uint16_t pkey_index = 0;
  std::uint8_t port = 1;
  std::uint8_t ack_timeout = 14, retry_count = 7, rnr_retry = 7, min_rnr_timer = 12;
  std::uint8_t max_reads = 1, max_peer_reads = 1;
  bool drain_notify = false, draining = false;
};

class QueuePair {
 public:
  QueuePair(Device& device, std::uint32_t slot, wire::Qpn qpn, std::uint32_t domain, const QpOptions& options);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  [[nodiscard]] wire::Qpn qpn() const { return qpn_; }
  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] std::uint32_t domain() const { return domain_; }
  [[nodiscard]] const QpOptions& options() const { return options_; }
  [[nodiscard]] nic::QpState state() const { return context_.state; }
  [[nodiscard]] const nic::Context& context() const { return context_; }

  // Of host memory: its rings, and the READs and atomics that it remembers.
  [[nodiscard]] std::size_t ring_bytes() const {
    return sq_.size() + rq_.size() + saved_.size() * sizeof(nic::SavedResponse);
  }

  // All or nothing: a refused call changes nothing.
  [[nodiscard]] Error modify(const QpAttributes& attributes, std::uint32_t mask);
  [[nodiscard]] QpAttributes query() const;

  // An undecided connection speaks this from now on; any other has made its choice.
  void decide(nic::Dialect dialect);

  // For those who post often: keep it as long as the queue pair lives.
  [[nodiscard]] Poster poster() { return {&device_, &context_}; }
  [[nodiscard]] Error post_send(const WorkRequest& request) { return poster().post(request); }
  [[nodiscard]] Error post_receive(const ReceiveRequest& request);

 private:
  [[nodiscard]] Error judge_values(const QpAttributes& a, std::uint32_t mask) const;
  void apply(const QpAttributes& a, std::uint32_t mask);
  void enter(nic::QpState to, const QpAttributes& a, std::uint32_t mask);
  void reset();
  void forget();
  void release_held_receive();
  void release_recovery();
  void mark_capable();
  void start_sending(wire::Psn psn);

  Device& device_;
  nic::Context& context_;
  std::uint32_t slot_;
  wire::Qpn qpn_;
  std::uint32_t domain_;
  QpOptions options_;
  RingMemory sq_, rq_;
  std::vector<nic::SavedResponse> saved_;
};

}  // namespace weft::host
