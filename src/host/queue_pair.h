// The host's side of a queue pair: its rings, its state as programs see it, and posting to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/error.h"
#include "host/poster.h"
#include "host/qp_transitions.h"
#include "host/queues.h"
#include "host/ring_memory.h"
#include "host/star/move.h"
#include "host/star/role.h"
#include "host/work_request.h"
#include "nic/card_state.h"
#include "nic/star/link.h"

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
  StarRole role = StarRole::none;
  // RC: the peer may call this card's kernels, so many at once; the peer is a card whose kernels may be called; and the
  // program wants to call them, if it turns out to be one (QueuePair::learn_of_kernels).
  std::uint32_t serves_calls = 0;
  // RC: the program may call this card's own kernels on it, so many at once, and such calls may send on it.
  std::uint32_t local_calls = 0;
  bool may_call = false, wants_to_call = false;
};

// Kernels are called in roce and srnic alone.
[[nodiscard]] inline bool has_kernels(const QpOptions& o) {
  return o.serves_calls != 0 || o.local_calls != 0 || o.may_call || o.wants_to_call;
}
[[nodiscard]] inline bool serves_kernels(const QpOptions& o) { return o.serves_calls != 0 || o.local_calls != 0; }
// Entries of the send queue that are the card's: for what kernels answer and send.
[[nodiscard]] inline std::uint32_t kernel_entries(const QpOptions& o) {
  return 2 * o.serves_calls + nic::KernelServer::kSendsOfALocalCall * o.local_calls;
}

// A stateless side has no shared receive queue, and what its entries name has to fit into a packet.
[[nodiscard]] inline bool fits_stateless(const QpOptions& o) {
  const QpLimits& l = o.limits;
  return o.service == wire::Service::rc && o.srq == nullptr &&
         std::max(l.send_sges, l.receive_sges) <= nic::RemoteWork::kMaxSges &&
         l.inline_bytes <= nic::RemoteWork::kMaxInline;
}

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
  // With a slot of the card's; or, StaR's stateless side, with a block of host memory and no slot at all.
  QueuePair(Device& device, std::uint32_t slot, wire::Qpn qpn, std::uint32_t domain, const QpOptions& options);
  QueuePair(Device& device, nic::StatelessBlock& block, wire::Qpn qpn, std::uint32_t domain, const QpOptions& options);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  [[nodiscard]] wire::Qpn qpn() const { return qpn_; }
  // The slot in the card's table of contexts. StaR's stateless side has none; its numbers begin where that table ends.
  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] std::uint32_t domain() const { return domain_; }
  [[nodiscard]] const QpOptions& options() const { return options_; }
  // As programs see it: that its send queue is held for a move is not theirs to know.
  [[nodiscard]] nic::QpState state() const {
    const nic::QpState s = context_->state;
    return is_held_ && s == nic::QpState::sqd && !drains_ ? nic::QpState::rts : s;
  }
  [[nodiscard]] const nic::Context& context() const { return *context_; }

  // Host memory that the queue pair takes: its rings, and the READs and atomics that it remembers.
  [[nodiscard]] std::size_t ring_bytes() const {
    return sq_.size() + rq_.size() + saved_.size() * sizeof(nic::SavedResponse) + (calls_ ? calls_->bytes() : 0);
  }

  // All or nothing: a refused call changes nothing.
  [[nodiscard]] Error modify(const QpAttributes& attributes, std::uint32_t mask);
  [[nodiscard]] QpAttributes query() const;

  // StaR's stateless side: what its host keeps instead of a card; nullptr: it is none.
  [[nodiscard]] const nic::StatelessBlock* block() const { return block_; }
  // Has it heard of the other side of its StaR connection?
  [[nodiscard]] bool knows_partner() const { return block_ != nullptr ? block_->room != 0 : link_ && link_->migrated; }

  // It wants to call the peer's kernels, knows who that is, and has not been told whether it has any.
  [[nodiscard]] bool awaits_kernels() const;
  void learn_of_kernels(bool may_call);
  // A call of a kernel of this card, or payload for one. Whoever posts it sees to the doorbell.
  [[nodiscard]] Error write_local_call(const LocalRequest& request);
  [[nodiscard]] Error post_local_call(const LocalRequest& request);

  // An undecided connection speaks this from now on; any other has made its choice.
  void decide(nic::Dialect dialect);
  // May it still play a role of StaR? Whoever was told what to speak, or has heard its peer, may not.
  [[nodiscard]] bool may_choose_role() const;
  [[nodiscard]] bool may_be_stateless() const;
  // Then it plays this one until it is reset. A stateless one leaves its place on the card to nobody, but has nothing
  // there: its context moves into host memory, and posters that others keep are void.
  void become_stateful();
  void become_stateless();
  // It has become stateless, and the peer has not taken the state; take_back() undoes it.
  [[nodiscard]] bool is_offered() const { return block_ != nullptr && block_->offered && block_->room == 0; }
  void take_back();

  // -- to speak something else while it runs (host/star/mover.h) --
  // Its part of the move that is under way, or was; nullptr: it has not moved since it was reset.
  [[nodiscard]] Move* move() const { return move_.get(); }
  Move& begin_moves(const MoveTimes& times, bool wins_ties);
  // It runs, and what it speaks is nobody's decision but the cards'.
  [[nodiscard]] bool may_move() const;
  [[nodiscard]] bool may_move_to(StarRole role) const;
  // The send queue begins nothing new, as in SQD, until it is released. Programs do not see it.
  void hold();
  void release();
  // Nothing of its own is under way, and nothing of the stateless side's.
  [[nodiscard]] bool is_quiet() const;
  [[nodiscard]] wire::MoveNumbers move_numbers() const;
  // Both sides are held and quiet: it speaks this from now on, and what was posted waits. Posters that others keep are
  // void. `era` is the same number at both sides.
  void change(nic::Dialect dialect, StarRole role, const wire::MoveNumbers& peers, std::uint32_t era);

  // For those who post often: keep it as long as the queue pair lives, and plays the role that it plays.
  [[nodiscard]] Poster poster() { return {&device_, context_}; }
  [[nodiscard]] Error post_send(const WorkRequest& request) { return poster().post(request); }
  [[nodiscard]] Error post_receive(const ReceiveRequest& r) { return post_receive(r.id, r.sges); }
  template <class Sges>  // see write_receive
  [[nodiscard]] Error post_receive(std::uint64_t id, const Sges& sges) {
    nic::Context& c = *context_;
    if (options_.srq != nullptr) return Error::invalid_argument;
    if (c.state == nic::QpState::reset) return Error::bad_state;
    if (c.rq_posted - c.rq_done == options_.limits.receive_entries) return Error::queue_full;
    std::byte* entry = c.rq + std::size_t{c.rq_posted & (options_.limits.receive_entries - 1)} * c.rq_stride;
    if (const Error e = write_receive(entry, id, sges, options_.limits.receive_sges); e != Error::none) return e;
    ++c.rq_posted;
    if (c.state == nic::QpState::error || c.stateless()) [[unlikely]]
      ring_to_flush();
    return Error::none;
  }

 private:
  [[nodiscard]] Error judge_values(const QpAttributes& a, std::uint32_t mask) const;
  void apply(const QpAttributes& a, std::uint32_t mask);
  void enter(nic::QpState to, const QpAttributes& a, std::uint32_t mask);
  void ring_to_flush();
  void reset();
  void forget();
  void release_held_receive();
  void release_taken();
  void make_rings();
  [[nodiscard]] nic::Context& make_context();
  [[nodiscard]] nic::Context leave_card();
  [[nodiscard]] nic::Context leave_side();
  void start_anew(nic::Context& c, const nic::Context& before, nic::Dialect dialect = nic::Dialect::star);
  void take_block(const nic::Context& before);
  void end_agreement();
  void leave_peer();
  void join_peer();
  void release_recovery();
  void end_kernels();
  void mark_capable();
  void start_sending(wire::Psn psn);
  void keep_saved(std::uint8_t wanted);

  Device& device_;
  nic::Context* context_;
  std::uint32_t slot_;
  wire::Qpn qpn_;
  std::uint32_t domain_;
  QpOptions options_;
  RingMemory sq_, rq_;
  std::vector<nic::SavedResponse> saved_;
  nic::StatelessBlock* block_ = nullptr;  // StaR's stateless side
  std::unique_ptr<nic::StarLink> link_;   // StaR's stateful side
  std::unique_ptr<nic::KernelServer> calls_;
  bool knows_of_kernels_ = false;  // whether the peer's may be called
  bool by_agreement_ = false;      // it became one of them, and is that until it is reset
  bool is_held_ = false;           // for a move; and meanwhile:
  bool drains_ = false;            //   its program has put it into SQD
  std::unique_ptr<Move> move_;
};

}  // namespace weft::host
