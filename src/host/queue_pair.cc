#include "host/queue_pair.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/canary.h"
#include "host/device.h"
#include "nic/srnic/streams.h"

namespace weft::host {
namespace {

using nic::QpState;

// Which UDP source port spreads this connection over equal paths: from both queue pair numbers, as drivers do.
std::uint16_t source_port_of(wire::Qpn a, wire::Qpn b) {
  std::uint64_t v = std::uint64_t{a.raw()} * b.raw();
  v ^= v >> 20;
  v ^= v >> 40;
  const auto label = static_cast<std::uint32_t>(v & 0xF'FFFF);
  return static_cast<std::uint16_t>(((label & 0x3FFF) ^ ((label & 0xF'C000) >> 14)) | 0xC000);
}

// Short ones come from the pool. A long one would lie in the pool's memory by itself, and what lies beside it there
// could not be given back before it.
RingMemory make_ring(Device& device, std::size_t bytes) {
  constexpr std::size_t kShort = 4096;
  return {bytes <= kShort ? device.pool() : *std::pmr::new_delete_resource(), bytes};
}

}  // namespace

QueuePair::QueuePair(Device& device, std::uint32_t slot, wire::Qpn qpn, std::uint32_t domain, const QpOptions& options)
    : device_(device),
      context_(&device.card_.contexts.make(slot)),
      slot_(slot),
      qpn_(qpn),
      domain_(domain),
      options_(options) {
  if (options_.role == StarRole::stateful) link_ = std::make_unique<nic::StarLink>();
  make_rings();
}

QueuePair::QueuePair(Device& device, nic::StatelessBlock& block, wire::Qpn qpn, std::uint32_t domain,
                     const QpOptions& options)
    : device_(device),
      context_(&block.context),
      slot_(block.slot = device.card_.contexts.size() + block.context.timer),
      qpn_(qpn),
      domain_(domain),
      options_(options),
      block_(&block) {
  make_rings();
}

void QueuePair::make_rings() {
  const QpLimits& l = options_.limits;
  const std::size_t send_stride = nic::entry_stride<nic::Work>(l.send_sges, l.inline_bytes);
  const std::size_t receive_stride = nic::entry_stride<nic::Receive>(l.receive_sges, 0);
  options_.limits.send_entries = std::bit_ceil(std::max(l.send_entries, 1U));
  if (serves_kernels(options_)) {
    calls_ = std::make_unique<nic::KernelServer>(qpn_.raw(), options_.serves_calls, options_.local_calls);
    // The program's half of the ring, of which it may have to leave some to the card for a while.
    options_.limits.send_entries = std::bit_ceil(options_.limits.send_entries + calls_->places());
  }
  options_.limits.receive_entries = std::bit_ceil(std::max(l.receive_entries, 1U));
  sq_ = make_ring(device_, send_stride << (std::countr_zero(options_.limits.send_entries) + (calls_ ? 1 : 0)));
  if (options_.srq == nullptr) rq_ = make_ring(device_, receive_stride * options_.limits.receive_entries);
  context_->sq_stride = static_cast<std::uint16_t>(send_stride);
  context_->rq_stride = static_cast<std::uint16_t>(receive_stride);
  context_->qpn = qpn_;
  reset();
}

QueuePair::~QueuePair() {
  end_kernels();
  release_recovery();
  release_held_receive();
  options_.send_cq->purge(qpn_);
  options_.receive_cq->purge(qpn_);
  if (block_ != nullptr) {
    device_.stateless_->give_back(*block_);
    return;
  }
  forget();
  device_.card_.contexts.erase(slot_);
}

// What the card keeps of it outside its context.
void QueuePair::forget() {
  if (block_ != nullptr) return;
  nic::CardState& card = device_.card_;
  if (device_.exporter_ != nullptr && nic::may_have_exported(*context_)) device_.exporter_->revoke_all();
  leave_peer();
  card.timers.remove(slot_);
  card.ready.remove(slot_);
  card.owing.remove(slot_);
  card.works.forget(slot_);
  card.receives.forget(slot_);
}

// Whoever waits for what this one had under way must be looked at.
void QueuePair::leave_peer() {
  const std::uint32_t next = device_.card_.peers.leave(*context_, slot_);
  if (next != nic::kNone) device_.ring(device_.card_.contexts[next]);
}

void QueuePair::join_peer() {
  nic::Context& c = *context_;
  if (c.service != wire::Service::rc || c.dialect == nic::Dialect::star) return;
  leave_peer();
  const nic::CardConfig& config = device_.card_.config;
  c.peer_slot = device_.card_.peers.join(c.peer, c.peer_qpn.raw() >> config.peer_shift, config.window_packets);
}

// Everything but what was fixed when the queue pair was made is as new; its number stays.
void QueuePair::reset() {
  const std::uint16_t send_stride = context_->sq_stride, receive_stride = context_->rq_stride;
  const bool rung = context_->rung && !(by_agreement_ && block_ != nullptr);  // it still stands among the doorbells
  forget();
  end_agreement();
  move_.reset();
  is_held_ = drains_ = false;
  nic::Context& c = make_context();
  c.rung = rung;
  c.qpn = qpn_;
  c.service = options_.service;
  if (c.service == wire::Service::rc && block_ == nullptr) c.dialect = device_.config_.dialect;
  if (options_.role != StarRole::none) c.dialect = nic::Dialect::star;
  c.domain = domain_;
  c.send_cq = options_.send_cq->number();
  c.receive_cq = options_.receive_cq->number();
  c.shared_rq = options_.srq != nullptr ? options_.srq->number() : nic::kNone;
  c.signal_all = options_.signal_all;
  c.sq = sq_.data();
  c.sq_stride = send_stride;
  c.max_send_sges = static_cast<std::uint8_t>(options_.limits.send_sges) & 0x3F;
  c.max_inline = static_cast<std::uint16_t>(options_.limits.inline_bytes);
  c.may_call = options_.may_call ? 1 : 0;
  knows_of_kernels_ = false;
  c.serves = calls_ ? 1 : 0;
  c.calls = calls_.get();
  end_kernels();
  c.sq_shift = static_cast<std::uint8_t>(std::countr_zero(options_.limits.send_entries) + c.serves);
  c.rq = rq_.data();
  c.rq_stride = receive_stride;
  c.rq_shift = static_cast<std::uint8_t>(std::countr_zero(options_.limits.receive_entries));
  if (c.dialect == nic::Dialect::srnic) nic::begin_dialect(c, c.dialect, device_.card_.config);
  if (link_) {
    *link_ = nic::StarLink{};
    c.link = link_.get();
  }
}

nic::Context& QueuePair::make_context() {
  if (block_ == nullptr) return device_.card_.contexts.make(slot_);
  device_.stateless_->renew(*block_);
  return *context_;
}

// What came ahead of its turn is forgotten, with the software's memory of it.
void QueuePair::release_recovery() {
  if (link_) release_taken();
  if (context_->dialect != nic::Dialect::srnic) return;
  for (nic::SrnicInbound* in : {&context_->srnic.in, &context_->responses.in}) {
    while (const nic::ReorderNote* note = device_.card_.reorder_notes.take_any(in->notes)) {
      if (note->kind != nic::ReorderNote::Kind::taken || options_.srq == nullptr) continue;
      nic::SharedReceiveRing& srq = device_.card_.srqs[context_->shared_rq];
      srq.free[srq.free_count++] = note->entry;
    }
  }
  device_.retransmission_.forget(slot_);
}

// Entries of a shared receive queue that work of the stateless side has taken.
void QueuePair::release_taken() {
  if (options_.srq == nullptr) return;
  nic::SharedReceiveRing& srq = device_.card_.srqs[context_->shared_rq];
  nic::StarStream& s = link_->streams[nic::StarLink::remote];
  for (std::uint32_t i = s.ripened; i != s.begun; ++i) {
    if (s.at(i).takes_receive) srq.free[srq.free_count++] = s.at(i).receive;
  }
}

// Calls are forgotten. Other queue pairs' local calls may have sent something here, or wait to do so.
void QueuePair::end_kernels() {
  if (!calls_) return;
  calls_->local().clear();
  calls_->abandon([&](std::uint32_t qpn, std::uint32_t serial) {
    nic::Context* c = device_.card_.contexts.find(wire::Qpn(qpn));
    if (c == nullptr || c->calls == nullptr || c == context_) return;
    if (serial != 0) c->calls->end_of_send(serial, false);
    if (c->calls->has_turn) device_.ring(*c);
  });
}

bool QueuePair::awaits_kernels() const {
  return options_.wants_to_call && !knows_of_kernels_ && context_->state != QpState::reset &&
         context_->state != QpState::init && context_->state != QpState::error;
}

void QueuePair::learn_of_kernels(bool may_call) {
  knows_of_kernels_ = true;
  context_->may_call = may_call ? 1 : 0;
}

void QueuePair::decide(nic::Dialect dialect) {
  if (context_->dialect != nic::Dialect::undecided) return;
  nic::begin_dialect(*context_, dialect, device_.card_.config);
  context_->by_agreement = true;
  device_.ring(*context_);
}

// Nothing of the peer has been heard, in whatever this side thought that they had agreed to speak.
bool QueuePair::may_choose_role() const {
  const nic::Context& c = *context_;
  const bool open = c.dialect == nic::Dialect::undecided || (c.by_agreement && !c.established);
  return open && options_.role == StarRole::none && !has_kernels(options_) &&
         (c.state == QpState::rtr || c.state == QpState::rts);
}

bool QueuePair::may_be_stateless() const {
  return may_choose_role() && fits_stateless(options_) && device_.has_room_for_stateless();
}

void QueuePair::become_stateful() {
  if (!may_choose_role()) return;
  const nic::Context before = leave_card();
  link_ = std::make_unique<nic::StarLink>();
  options_.role = StarRole::stateful;
  by_agreement_ = true;
  start_anew(device_.card_.contexts.make(slot_), before);
  context_->link = link_.get();
  device_.ring(*context_);
}

void QueuePair::become_stateless() {
  if (!may_be_stateless()) return;
  take_block(leave_card());
  block_->offered = true;
  device_.ring(*context_);
}

// Instead of its place on the card, which nobody else gets.
void QueuePair::take_block(const nic::Context& before) {
  device_.card_.contexts.erase(slot_);
  block_ = &device_.take_block();
  block_->slot = slot_;
  block_->wants_migration = true;
  options_.role = StarRole::stateless;
  by_agreement_ = true;
  context_ = &block_->context;
  const std::uint32_t timer = context_->timer;
  start_anew(*context_, before);
  context_->make_stateless();
  context_->timer = timer;
}

void QueuePair::take_back() {
  if (!is_offered()) return;
  const nic::Context before = *context_;
  end_agreement();
  start_anew(*context_, before);
  context_->dialect = nic::Dialect::undecided;
}

// The card forgets what it has of it. What it had in its context, which is carried over.
nic::Context QueuePair::leave_card() {
  release_recovery();
  release_held_receive();
  forget();
  device_.doorbells_.remove(slot_);
  return *context_;
}

// As it was set up, with all that has been posted and nothing that has been sent.
void QueuePair::start_anew(nic::Context& c, const nic::Context& before, nic::Dialect dialect) {
  c = before;
  c.rung = c.scheduled = c.ack_queued = c.owes_ack = c.nak_sent = c.rnr_wait = c.waits = c.woken = false;
  c.requests_lost = c.responses_lost = c.owes_response_ack = c.requests_awaited = c.responses_awaited = false;
  c.established = c.by_agreement = false;
  c.receive_entry = nic::kNone;
  c.saved_pending = 0;
  c.peer_slot = nic::kNoPeer;
  c.losses_told = c.counted = 0;
  c.retry_ring = 0xFFFF;
  c.deadline = kNever;
  c.timer = 0;
  c.retries_left = c.retry_count;
  c.rnr_retries_left = c.rnr_retry;
  constexpr std::uint8_t kEcn = 3;  // the card's own, in srnic
  if (before.dialect == nic::Dialect::srnic) c.marks.traffic_class &= static_cast<std::uint8_t>(~kEcn);
  c.link = nullptr;
  nic::begin_dialect(c, dialect, device_.card_.config);
}

// What was agreed upon holds until the queue pair is reset: then it has its place on the card again.
void QueuePair::end_agreement() {
  if (!std::exchange(by_agreement_, false)) return;
  options_.role = StarRole::none;
  link_.reset();
  if (block_ == nullptr) return;
  device_.stateless_->give_back(*block_);
  block_ = nullptr;
  context_ = &device_.card_.contexts.make(slot_);
}

// ---- moves ----------------------------------------------------------------------------------------------

Move& QueuePair::begin_moves(const MoveTimes& times, bool wins_ties) {
  if (move_ == nullptr) {
    move_ = std::make_unique<Move>(times, static_cast<std::uint32_t>(device_.random_.next()), wins_ties);
  }
  return *move_;
}

bool QueuePair::may_move() const {
  const bool chosen = options_.role == StarRole::none || by_agreement_;
  return chosen && options_.service == wire::Service::rc && state() == QpState::rts && !is_offered() &&
         context_->dialect != nic::Dialect::undecided && (block_ == nullptr || !block_->breaking);
}

bool QueuePair::may_move_to(StarRole role) const {
  return may_move() && !has_kernels(options_) &&
         (role != StarRole::stateless || (fits_stateless(options_) && device_.has_room_for_stateless()));
}

void QueuePair::hold() {
  nic::Context& c = *context_;
  if (is_held_ || (c.state != QpState::rts && c.state != QpState::sqd)) return;
  is_held_ = true;
  drains_ = c.state == QpState::sqd;
  if (drains_) return;
  c.state = QpState::sqd;
  c.drained = c.drain_notify = false;
}

void QueuePair::release() {
  nic::Context& c = *context_;
  if (!std::exchange(is_held_, false)) return;
  if (c.state == QpState::sqd && !drains_) c.state = QpState::rts;
  drains_ = false;
  device_.ring(c);
}

bool QueuePair::is_quiet() const {
  const nic::Context& c = *context_;
  if (block_ != nullptr) return block_->works_begun == c.sq_done;
  if (c.sq_done != c.sq_next || c.next_offset != 0 || c.rnr_wait || c.sq_stalled) return false;
  if (link_ != nullptr) return link_->is_quiet();
  return c.next_psn == c.unacked_psn && (c.dialect != nic::Dialect::roce || c.sent_psn == c.unacked_psn);
}

// The first packet in the next dialect has a PSN that none of this connection has had for a long time: in srnic
// responses have numbers of their own, and requests and responses begin with the same one.
wire::MoveNumbers QueuePair::move_numbers() const {
  const nic::Context& c = *context_;
  wire::Psn psn = c.next_psn;
  if (c.dialect == nic::Dialect::srnic && c.responses.in_expected.ahead_of(psn) > 0) psn = c.responses.in_expected;
  return {.sends = c.sq_done, .receives = c.rq_done, .psn = psn};
}

void QueuePair::change(nic::Dialect dialect, StarRole role, const wire::MoveNumbers& peers, std::uint32_t era) {
  const wire::MoveNumbers own = move_numbers();
  nic::Context before = leave_side();
  before.next_psn = before.unacked_psn = before.done_psn = own.psn;
  before.expected_psn = peers.psn;
  before.sq_next = before.sq_done;
  before.established = true;
  std::fill(saved_.begin(), saved_.end(), nic::SavedResponse{});
  if (role == StarRole::stateless) {
    take_block(before);
    block_->era = era;
    block_->works_told = block_->works_heard = block_->works_begun = before.sq_done;
    block_->receives_told = block_->receives_heard = before.rq_done;
  } else {
    start_anew(device_.card_.contexts.make(slot_), before, dialect);
    options_.role = role;
    by_agreement_ = role != StarRole::none;
  }
  nic::Context& c = *context_;
  c.established = true;
  c.drained = false;
  if (role == StarRole::stateful) {
    link_ = std::make_unique<nic::StarLink>();
    link_->begin_at(peers.sends, peers.receives);
    link_->era = era;
    c.link = link_.get();
  }
  if (dialect == nic::Dialect::srnic) c.next_ssn = peers.receives;
  join_peer();
  device_.ring(c);
}

// Whatever it spoke: its context, with its place on the card for it again.
nic::Context QueuePair::leave_side() {
  if (block_ == nullptr) {
    const nic::Context before = leave_card();
    link_.reset();
    return before;
  }
  const nic::Context before = *context_;
  device_.stateless_->give_back(*block_);
  block_ = nullptr;
  context_ = &device_.card_.contexts.make(slot_);
  return before;
}

// Switches may mark packets of an srnic connection instead of dropping them.
void QueuePair::mark_capable() {
  if (context_->dialect == nic::Dialect::srnic) nic::mark_capable(*context_, device_.card_.config);
}

void QueuePair::release_held_receive() {
  if (options_.srq == nullptr || context_->receive_entry == nic::kNone) return;
  nic::SharedReceiveRing& srq = device_.card_.srqs[context_->shared_rq];
  srq.free[srq.free_count++] = context_->receive_entry;
  context_->receive_entry = nic::kNone;
}

// ---- state ----------------------------------------------------------------------------------------------

Error QueuePair::judge_values(const QpAttributes& a, std::uint32_t mask) const {
  const DeviceConfig& d = device_.config_;
  if ((mask & ~QpMask::all) != 0) return Error::invalid_argument;
  if ((mask & (QpMask::alternate_path | QpMask::migration | QpMask::capabilities)) != 0) return Error::not_supported;
  if ((mask & QpMask::port) != 0 && a.port != 1) return Error::invalid_argument;
  if ((mask & QpMask::pkey_index) != 0 && a.pkey_index != 0) return Error::invalid_argument;
  if ((mask & QpMask::path) != 0 && !device_.card_.port.reaches(a.peer, a.gid_index)) return Error::invalid_argument;
  if ((mask & QpMask::path) != 0 && a.service_level >= nic::kServiceLevels) return Error::invalid_argument;
  if ((mask & QpMask::mtu) != 0) {
    if (!std::has_single_bit(a.mtu) || a.mtu < 256 || a.mtu > 4096) return Error::invalid_argument;
    if (a.mtu > d.mtu) return Error::limit_exceeded;
  }
  if ((mask & QpMask::max_reads) != 0 && a.max_reads > d.max_reads) return Error::limit_exceeded;
  if ((mask & QpMask::max_peer_reads) != 0 && a.max_peer_reads > d.max_reads) return Error::limit_exceeded;
  const auto exceeds = [mask](std::uint32_t bit, std::uint8_t value, std::uint8_t most) {
    return (mask & bit) != 0 && value > most;
  };
  const bool counts_fit =
      !exceeds(QpMask::retry_count, a.retry_count, 7) && !exceeds(QpMask::rnr_retry, a.rnr_retry, 7) &&
      !exceeds(QpMask::ack_timeout, a.ack_timeout, 31) && !exceeds(QpMask::min_rnr_timer, a.min_rnr_timer, 31);
  return counts_fit ? Error::none : Error::invalid_argument;
}

Error QueuePair::modify(const QpAttributes& a, std::uint32_t mask) {
  const QpState from = state();
  if ((mask & QpMask::current_state) != 0 && a.current_state != from) return Error::bad_state;
  const QpState to = (mask & QpMask::state) != 0 ? a.state : from;
  if (const Error e = judge_transition(options_.service, from, to, mask); e != Error::none) return e;
  if (const Error e = judge_values(a, mask); e != Error::none && !canary(Canary::any_attribute)) return e;
  // A stateless side cannot drain its send queue: its card does not know what is in it.
  if (block_ != nullptr && to == QpState::sqd) return Error::not_supported;
  if (to == QpState::reset) {
    release_recovery();
    release_held_receive();
    reset();
    options_.send_cq->purge(qpn_);
    options_.receive_cq->purge(qpn_);
    return Error::none;
  }
  apply(a, mask);
  enter(to, a, mask);
  return Error::none;
}

void QueuePair::apply(const QpAttributes& a, std::uint32_t mask) {
  nic::Context& c = *context_;
  const auto given = [mask](std::uint32_t bit) { return (mask & bit) != 0; };
  if (given(QpMask::rights)) c.rights = a.rights & nic::kRemoteRights;
  if (given(QpMask::qkey)) c.qkey = a.qkey;
  if (given(QpMask::peer_qpn)) c.peer_qpn = a.peer_qpn;
  if (given(QpMask::mtu)) c.mtu_shift = static_cast<std::uint8_t>(std::countr_zero(a.mtu));
  if (given(QpMask::path)) {
    c.peer = a.peer;
    c.gid_index = a.gid_index;
    c.service_level = a.service_level;
    c.marks.flow_label = a.flow_label;
    c.marks.traffic_class = a.traffic_class;
    c.marks.hop_limit = a.hop_limit;
    c.marks.source_port = a.udp_source_port != 0 ? a.udp_source_port : source_port_of(qpn_, c.peer_qpn);
    mark_capable();
    join_peer();
  }
  if (given(QpMask::receive_psn)) {
    c.expected_psn = a.receive_psn;
    if (c.dialect == nic::Dialect::srnic) nic::begin_dialect(c, c.dialect, device_.card_.config);
  }
  if (given(QpMask::send_psn)) start_sending(a.send_psn);
  if (given(QpMask::ack_timeout)) c.ack_timeout = a.ack_timeout;
  if (given(QpMask::retry_count)) c.retry_count = c.retries_left = a.retry_count;
  if (given(QpMask::rnr_retry)) c.rnr_retry = c.rnr_retries_left = a.rnr_retry;
  if (given(QpMask::min_rnr_timer)) c.min_rnr_timer = a.min_rnr_timer;
  if (given(QpMask::max_reads)) {
    c.max_reads = a.max_reads;
    c.head_waits = false;
  }
  if (given(QpMask::max_peer_reads)) {
    keep_saved(a.max_peer_reads);
  }
}

// In SQD the peer goes on asking: what is being answered stays, and so does what it may ask for again, the newest of it
// if there is less room from now on.
void QueuePair::keep_saved(std::uint8_t wanted) {
  nic::Context& c = *context_;
  if (c.state != QpState::sqd) c.saved_size = c.saved_next = c.saved_pending = 0;
  const std::uint8_t size = std::max(wanted, c.saved_pending), kept = std::min(size, c.saved_size);
  std::vector<nic::SavedResponse> saved(size);
  for (std::uint32_t i = 0; i < kept; ++i) saved[i] = c.saved[(c.saved_next + c.saved_size - kept + i) % c.saved_size];
  saved_ = std::move(saved);
  c.saved = saved_.data();
  c.saved_size = size;
  c.saved_next = size == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(kept % size);
}

// In StaR the numbers are the stateful side's own, and something may be under way with them since RTR.
void QueuePair::start_sending(wire::Psn psn) {
  nic::Context& c = *context_;
  if (link_ != nullptr && link_->open != 0) return;
  c.next_psn = c.done_psn = c.unacked_psn = psn;
  if (c.dialect == nic::Dialect::srnic) {
    c.responses.in_expected = psn;
  } else {
    c.sent_psn = psn;
  }
}

void QueuePair::enter(QpState to, const QpAttributes& a, std::uint32_t mask) {
  const bool stays_held = is_held_ && (to == QpState::rts || to == QpState::sqd);
  drains_ = stays_held && to == QpState::sqd;
  context_->state = stays_held ? QpState::sqd : to;
  if (to == QpState::sqd && (mask & QpMask::state) != 0) {
    context_->drained = false;
    context_->drain_notify = (mask & QpMask::drain_notify) != 0 && a.drain_notify;
  }
  if (block_ != nullptr && (to == QpState::rtr || to == QpState::rts)) block_->wants_migration = true;
  device_.ring(*context_);  // whatever the new state lets it do, or must flush
}

QpAttributes QueuePair::query() const {
  const nic::Context& c = *context_;
  QpAttributes a;
  a.state = a.current_state = state();
  a.rights = c.rights;
  a.peer = c.peer;
  a.gid_index = c.gid_index;
  a.service_level = c.service_level;
  a.flow_label = c.marks.flow_label;
  constexpr std::uint8_t kEcn = 3;  // the card's own, in srnic
  a.traffic_class =
      static_cast<std::uint8_t>(c.marks.traffic_class & (c.dialect == nic::Dialect::srnic ? ~kEcn : 0xFF));
  a.hop_limit = c.marks.hop_limit;
  a.udp_source_port = c.marks.source_port;
  a.mtu = static_cast<std::uint16_t>(1U << c.mtu_shift);
  a.peer_qpn = c.peer_qpn;
  a.receive_psn = c.expected_psn;
  a.send_psn = c.next_psn;
  if (c.service == wire::Service::ud) a.qkey = c.qkey;
  a.ack_timeout = c.ack_timeout;
  a.retry_count = c.retry_count;
  a.rnr_retry = c.rnr_retry;
  a.min_rnr_timer = c.min_rnr_timer;
  a.max_reads = c.max_reads;
  a.max_peer_reads = c.saved_size;
  a.drain_notify = c.drain_notify;
  a.draining = state() == QpState::sqd && (block_ != nullptr ? !is_quiet() : !c.drained);
  return a;
}

// The card need not hear of receives, unless it is to flush them.
void QueuePair::ring_to_flush() { device_.ring(*context_); }

}  // namespace weft::host
