// StaR's stateless side. It acts on what a packet carries and on host memory that the packet names, and keeps nothing:
// there is no context in here but those that lie in host memory (nic/stateless_block.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "nic/completions.h"
#include "nic/core.h"
#include "nic/host_memory.h"
#include "nic/rc/local_work.h"
#include "nic/scatter_gather.h"
#include "nic/star/gate.h"
#include "wire/lane_number.h"
#include "wire/star_payloads.h"

namespace weft::nic {

template <World W>
class Stateless {
 public:
  Stateless(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  void on_packet(const wire::Packet& p) {
    if (const Refusal r = judge(p); r != Refusal::none) [[unlikely]]
      return core_.refuse(r);
    switch (p.headers.bth.opcode) {
      case wire::Opcode::star_rd: return take_data(p);
      case wire::Opcode::star_gd: return give_data(p);
      case wire::Opcode::star_cqep: return p.headers.bth.solicited ? grant(p) : complete(p);
      default: return hear(p);
    }
  }

  // The host has posted work, or wants it posted again: it leaves as WQEPs.
  void on_post(StatelessBlock& b) {
    Context& c = b.context;
    if (c.qpn.raw() == 0) return;
    if (c.state == QpState::error) {
      flush(b);
      return b.wants_migration ? migrate(b) : void();
    }
    if (c.state == QpState::reset || c.state == QpState::init) return;
    if (b.wants_migration) migrate(b);
    if (b.room == 0) return;
    while (tell(b, false)) {
    }
    while (tell(b, true)) {
    }
    if (b.asks) ask(b);
  }

 private:
  [[nodiscard]] std::uint32_t clock() { return static_cast<std::uint32_t>(core_.now() / microsecond()); }
  [[nodiscard]] Time microsecond() const { return 1000 * core_.state.config.nanosecond; }
  [[nodiscard]] static Holder holder(const wire::Packet& p) { return {p.flow.source, p.headers.bth.destination}; }

  // Every check that needs no memory, in this order: ours, recent, and with a capability that this card has issued.
  [[nodiscard]] Refusal judge(const wire::Packet& p) {
    if (!core_.state.capabilities.active() || core_.state.blocks == nullptr) return Refusal::star_off;
    if (!core_.state.port.has(p.flow.destination)) return Refusal::not_our_address;
    if (wire::StarView::plain(p.headers)) return trusts() ? Refusal::none : Refusal::star_bad_capability;
    const wire::StarGuard g = wire::StarView::guard(p.headers);
    // Only data must not come late: everything else knows by its numbers that it has been done.
    const bool is_data = p.headers.bth.opcode == wire::Opcode::star_rd;
    const bool is_late = is_data && static_cast<std::int32_t>(clock() - g.expiry) > 0;
    if (is_data) core_.state.recent_data->expect(name_of(p, g));
    const Refusal r = check(holder(p), g.capability);
    if (r == Refusal::star_stale_epoch && wants_answer(p)) answer(p, r);  // its holder asks for a new one
    if (r != Refusal::none || !is_late) return r;
    answer(p, Refusal::star_expired);  // its sender learns our time
    return Refusal::star_expired;
  }
  [[nodiscard]] static RecentData::Name name_of(const wire::Packet& p, const wire::StarGuard& g) {
    return {p.flow.source, p.headers.bth, g.incarnation};
  }
  [[nodiscard]] bool trusts() const { return core_.state.config.star_trust; }
  [[nodiscard]] Refusal check(const Holder& who, const wire::Capability& shown) {
    core_.world.touch(OnChip::capability, shown.epoch);
    return core_.state.capabilities.check(who, shown);
  }
  [[nodiscard]] wire::Capability issue(const Holder& who, const wire::Capability& wanted) {
    if (trusts()) return wanted;
    core_.world.touch(OnChip::capability, wanted.key.raw());
    return core_.state.capabilities.issue(who, wanted);
  }
  [[nodiscard]] static bool wants_answer(const wire::Packet& p) {
    return p.headers.bth.opcode != wire::Opcode::star_ea;
  }

  // ---- answers

  static wire::Opcode answer_to(wire::Opcode o) {
    return o == wire::Opcode::star_rd   ? wire::Opcode::star_rda
           : o == wire::Opcode::star_gd ? wire::Opcode::star_gda
                                        : wire::Opcode::star_ea_up;
  }
  wire::Headers& start_answer(const wire::Packet& p, Refusal status) {
    OutPacket& out = core_.out;
    out.flow = p.flow;
    out.flow.source = p.flow.destination;
    out.flow.destination = p.flow.source;
    out.flow.to = wire::UdpPort::stateful;
    wire::Headers& h = out.headers;
    h.bth = wire::Bth{};
    h.bth.opcode = answer_to(p.headers.bth.opcode);
    h.bth.destination = p.headers.bth.destination;
    h.bth.psn = p.headers.bth.psn;
    h.bth.solicited = p.headers.bth.solicited;
    h.reth.address = p.headers.reth.address;
    h.reth.length = 0;
    wire::StarView::set_opt(h, wire::StarView::opt(p.headers));
    wire::StarView::set_lane(h, wire::StarView::lane(p.headers));
    wire::StarView::set_answer(h, {status, clock()});
    if (wire::StarView::plain(p.headers) && status == Refusal::none) wire::StarView::set_plain(h);
    out.payload = {};
    out.payload_bytes = 0;
    out.packets = 1;
    out.one_copy = out.last = out.passing = false;
    return h;
  }
  void answer(const wire::Packet& p, Refusal status) {
    start_answer(p, status);
    core_.count(Counter::acks_sent);
    core_.send_packet();
  }
  void send_scratch(std::size_t bytes) {
    core_.out.headers.reth.length = static_cast<std::uint32_t>(bytes);
    core_.send_passing(std::span(scratch_).first(bytes));
  }
  void refuse(const wire::Packet& p, Refusal why) {
    core_.refuse(why);
    answer(p, why);
  }

  // ---- data

  void take_data(const wire::Packet& p) {
    using R = wire::StarRights;
    if (wire::StarView::opt(p.headers) == wire::StarOpt::atomic) return do_atomic(p);
    std::byte* at = nullptr;
    const auto bytes = static_cast<std::uint32_t>(p.payload.size());
    const Refusal r = gate_.open(p, R::remote_write | R::work_write, bytes, at);
    if (r != Refusal::none) return refuse(p, r);
    if (wire::StarView::plain(p.headers)) {
      if (!core_.dma_write(at, p.payload)) return core_.refuse(Refusal::payload_gone);
    } else if (!place_once(p, at)) {
      return;
    }
    answer(p, Refusal::none);
  }
  // What a copy brings is not placed: the memory may have got new contents since. False: the payload is gone.
  [[nodiscard]] bool place_once(const wire::Packet& p, std::byte* at) {
    const wire::StarGuard g = wire::StarView::guard(p.headers);
    const RecentData::Name name = name_of(p, g);
    RecentData& recent = *core_.state.recent_data;
    const Time now = core_.now();
    if (recent.has(name, now)) {
      core_.count(Counter::duplicate_request);
      return true;
    }
    if (!core_.dma_write(at, p.payload)) {
      core_.refuse(Refusal::payload_gone);
      return false;
    }
    const auto good_for = static_cast<std::int32_t>(g.expiry - clock());  // judge() has seen that it is not over
    if (recent.keep(name, now, now + (Time{1} + good_for) * microsecond())) core_.count(Counter::star_forgotten);
    return true;
  }

  void give_data(const wire::Packet& p) {
    using R = wire::StarRights;
    std::byte* at = nullptr;
    const std::uint32_t bytes = p.headers.reth.length;
    if (bytes > Core<W>::kMaxMove) return refuse(p, Refusal::star_bad_payload);
    const Refusal r = gate_.open(p, R::remote_read | R::work_read, bytes, at);
    if (r != Refusal::none) return refuse(p, r);
    start_answer(p, Refusal::none);
    core_.world.read(BusRead::payload, at, bytes);
    const Fragment piece{at, bytes};
    core_.out.payload = {&piece, 1};
    core_.out.payload_bytes = core_.out.headers.reth.length = bytes;
    core_.count(Counter::acks_sent);
    core_.send_packet();
    core_.out.payload = {};
  }

  // A copy of one that was done is answered from the slot that its number names, in host memory.
  void do_atomic(const wire::Packet& p) {
    if (p.payload.size() != wire::StarAtomic::kBytes) return refuse(p, Refusal::star_bad_payload);
    const auto a = wire::star_read<wire::StarAtomic>(p.payload.near(), 0);
    wire::Capability control{.rights = wire::StarRights::control, .epoch = a.epoch, .base = a.block, .mac = a.control};
    const bool is_plain = wire::StarView::plain(p.headers);
    if (const Refusal r = is_plain ? Refusal::none : check(holder(p), control); r != Refusal::none) return refuse(p, r);
    StatelessBlock* b = block(a.block);
    if (b == nullptr) return refuse(p, Refusal::star_no_such_block);
    const Context& c = b->context;
    if (c.saved_size == 0) return refuse(p, Refusal::too_many_reads);
    if (p.headers.reth.address % 8 != 0) return refuse(p, Refusal::misaligned_atomic);
    std::byte* at = nullptr;
    if (const Refusal r = gate_.open(p, wire::StarRights::remote_atomic, 8, at); r != Refusal::none)
      return refuse(p, r);
    std::uint64_t* word = word_at(at);
    if (word == nullptr) return refuse(p, Refusal::misaligned_atomic);
    SavedResponse& s = read_saved(core_, c, a.count % c.saved_size);
    const bool newer = !s.valid || static_cast<std::int32_t>(a.count - s.msn) > 0;
    if (!newer && a.count != s.msn) return core_.refuse(Refusal::duplicate_too_old);
    if (newer) {
      s = SavedResponse{};
      s.valid = s.atomic = true;
      s.msn = a.count;
      s.original =
          swap_or_add(core_, *word, {p.headers.reth.address, p.headers.reth.key, a.swap_add, a.compare}, a.adds);
      write_saved(core_, s);
    }
    start_answer(p, Refusal::none);
    wire::store_be(scratch_.data(), s.original);
    core_.count(Counter::acks_sent);
    send_scratch(sizeof s.original);
  }

  // ---- blocks

  // A living block of this name.
  [[nodiscard]] StatelessBlock* block(std::uint64_t name) {
    const auto number = static_cast<std::uint32_t>(name);
    if (number >= core_.state.blocks->size()) return nullptr;
    StatelessBlock& b = (*core_.state.blocks)[number];
    core_.world.read(BusRead::block, &b, sizeof b);
    return b.context.qpn.raw() != 0 && b.generation == name >> 32 ? &b : nullptr;
  }
  // The block that a control packet is for. Its capability has been checked; it must be one for a block.
  [[nodiscard]] StatelessBlock* block_of(const wire::Packet& p, Refusal& why) {
    if (wire::StarView::plain(p.headers)) {
      StatelessBlock* b = block(p.headers.reth.address);
      why = b == nullptr ? Refusal::star_no_such_block : Refusal::none;
      return b;
    }
    const wire::Capability c = wire::StarView::guard(p.headers).capability;
    why = (c.rights & wire::StarRights::control) == 0 ? Refusal::star_not_granted : Refusal::none;
    StatelessBlock* b = why == Refusal::none ? block(c.base) : nullptr;
    if (b == nullptr && why == Refusal::none) why = Refusal::star_no_such_block;
    return b;
  }

  // An EA: so much of what was posted has been heard.
  void hear(const wire::Packet& p) {
    Refusal why = Refusal::none;
    StatelessBlock* b = block_of(p, why);
    if (b == nullptr) return core_.refuse(why);
    if (p.payload.size() != wire::StarHeard::kBytes) return core_.refuse(Refusal::star_bad_payload);
    const auto heard = wire::star_read<wire::StarHeard>(p.payload.near(), 0);
    core_.count(Counter::acks_rcvd);
    const std::uint32_t room = b->room;
    advance(b->works_heard, b->works_told, heard.works);
    advance(b->receives_heard, b->receives_told, heard.receives);
    if (p.headers.bth.solicited) {
      if (is_newest(*b, heard)) b->wants_migration = false;
      b->room = heard.room;
    }
    b->note_heard(core_.now());
    core_.world.write(BusWrite::block, b, sizeof *b - sizeof(Context));
    if (room == 0 && b->room != 0) on_post(*b);  // what had to wait for it
    have_watched(*b);
  }
  // Has the stateful side heard the state as it is now?
  [[nodiscard]] bool is_newest(const StatelessBlock& b, const wire::StarHeard& heard) const {
    const std::uint8_t epoch = trusts() ? 0 : core_.state.capabilities.epoch();
    return heard.rules == b.rules && heard.epoch == epoch && (heard.broken || b.context.state != QpState::error);
  }
  // We have said something that the host did not ask for just now. Its timer is to see that it is heard.
  void have_watched(StatelessBlock& b) {
    if (b.watched || b.context.rung || !(b.waits_for_answer() || b.breaking)) return;
    b.context.rung = true;
    core_.state.rung_blocks->push(b.context.timer);
  }
  // A count that only grows, and not beyond what was said.
  static void advance(std::uint32_t& heard, std::uint32_t told, std::uint32_t now) {
    if (now - heard <= told - heard) heard = now;
  }

  // ---- completions

  // What is done has been heard, though the EA that would have said so was lost.
  static void catch_up(std::uint32_t& told, std::uint32_t& heard, std::uint32_t done) {
    if (static_cast<std::int32_t>(done - heard) > 0) heard = done;
    if (static_cast<std::int32_t>(heard - told) > 0) told = heard;
  }

  void complete(const wire::Packet& p) {
    Refusal why = Refusal::none;
    StatelessBlock* b = block_of(p, why);
    if (b == nullptr) return refuse(p, why);
    const auto payload = p.payload.near();
    if (!makes_sense(payload)) return refuse(p, Refusal::star_bad_payload);
    const wire::Psn psn = p.headers.bth.psn;
    if (b->context.state == QpState::error && psn != b->last_completions) return refuse(p, Refusal::star_peer_gone);
    for (std::size_t at = 0; at < payload.size(); at += wire::StarDone::kBytes) {
      if (!finish(*b, wire::star_read<wire::StarDone>(payload, at))) return core_.refuse(Refusal::star_cq_full);
    }
    if (b->context.state == QpState::error) on_post(*b);
    catch_up(b->works_told, b->works_heard, b->context.sq_done);
    catch_up(b->receives_told, b->receives_heard, b->context.rq_done);
    core_.world.write(BusWrite::block, b, sizeof *b);
    b->last_completions = psn;
    b->note_heard(core_.now());
    answer(p, Refusal::none);
    if (b->context.state != QpState::error) on_post(*b);  // there is room for more of what was posted
    have_watched(*b);
  }
  // Whole completions, with statuses and reasons that exist: they come from the peer.
  [[nodiscard]] static bool makes_sense(std::span<const std::byte> payload) {
    if (payload.size() % wire::StarDone::kBytes != 0) return false;
    for (std::size_t at = 0; at < payload.size(); at += wire::StarDone::kBytes) {
      const auto d = wire::star_read<wire::StarDone>(payload, at);
      if (d.status > static_cast<std::uint8_t>(Status::fatal) || d.reason >= Refusal::count_) return false;
    }
    return true;
  }
  [[nodiscard]] bool has_room(std::uint32_t cq) const {
    const CompletionRing& ring = core_.state.cqs[cq];
    return !ring.full() && !ring.overflowed;
  }
  // False: its queue is full, and nothing has changed. A completion that came before changes nothing.
  [[nodiscard]] bool finish(StatelessBlock& b, const wire::StarDone& d) {
    Context& c = b.context;
    if (c.state == QpState::error || c.state == QpState::reset) return true;
    if (d.queue == wire::StarDone::Queue::send) {
      if (d.number != c.sq_done || c.sq_done == c.sq_posted) return true;
      if (!has_room(c.send_cq)) return false;
      finish_work(b, static_cast<Status>(d.status), d.reason);
    } else if (d.queue == wire::StarDone::Queue::receive) {
      return finish_receive(b, d);
    } else {
      break_off(b, d.reason, static_cast<Status>(d.status));
    }
    return true;
  }
  // Work that changes keys is done now: all before it has been, and nothing behind it has begun.
  void finish_work(StatelessBlock& b, Status status, Refusal reason) {
    Context& c = b.context;
    c.sq_next = c.sq_done + 1;
    const Work& w = read_work_under_way(core_, c, c.sq_done);
    if (status == Status::success && is_local(w.kind)) {
      reason = carry_out_locally(core_, c, w);
      if (reason != Refusal::none) status = Status::window_bind;
    }
    if (status != Status::success) core_.refuse(reason);
    completions_.finish_work(c, status, reason);
    if (status != Status::success) break_off(b, reason);
  }
  [[nodiscard]] bool finish_receive(StatelessBlock& b, const wire::StarDone& d) {
    Context& c = b.context;
    if (d.number != c.rq_done || c.rq_done == c.rq_posted) return true;
    if (!has_room(c.receive_cq)) return false;
    const auto status = static_cast<Status>(d.status);
    wire::Headers h;
    describe(d, h);
    c.receive_entry = c.rq_done;
    if (status == Status::success && (d.flags & wire::StarDone::invalidates) != 0) {
      (void)core_.state.memory.invalidate(wire::Key(d.immediate), core_.asker(c));
    }
    completions_.finish_receive(
        c, {.status = status,
            .reason = d.reason,
            .kind = (d.flags & wire::StarDone::of_write) != 0 ? CompletionKind::receive_write_immediate
                                                              : CompletionKind::receive,
            .bytes = d.bytes,
            .headers = &h});
    if (status != Status::success) break_off(b, d.reason);
    return true;
  }
  static void describe(const wire::StarDone& d, wire::Headers& h) {
    using O = wire::Opcode;
    const bool imm = (d.flags & wire::StarDone::immediate_data) != 0;
    const bool inv = (d.flags & wire::StarDone::invalidates) != 0;
    h.bth.opcode = imm ? O::rc_send_only_imm : inv ? O::rc_send_only_invalidate : O::rc_send_only;
    h.bth.solicited = (d.flags & wire::StarDone::solicited) != 0;
    h.immediate.value = d.immediate;
    h.invalidate.key = wire::Key(d.immediate);
  }

  // `as_responder`: how the peer's request ended that breaks it.
  void break_off(StatelessBlock& b, Refusal why, Status as_responder = Status::success) {
    Context& c = b.context;
    if (c.broken_by == Refusal::none) c.broken_by = why;
    c.state = QpState::error;
    if (as_responder != Status::success) {
      const bool access = as_responder == Status::remote_access;
      core_.world.notify({access ? EventKind::qp_access_error : EventKind::qp_request_error, c.qpn.raw()});
    }
    flush(b);
  }
  // What was posted comes back. If a completion queue is full, the rest does later: the host's timer asks again.
  void flush(StatelessBlock& b) {
    Context& c = b.context;
    b.breaking = true;
    b.works_told = b.works_heard = c.sq_posted;
    b.receives_told = b.receives_heard = c.rq_posted;
    if (!b.broken_told && b.room != 0) b.wants_migration = b.broken_told = true;  // the stateful side is told
    while (c.sq_done != c.sq_posted && has_room(c.send_cq)) {
      completions_.finish_work(c, b.break_status != Status::success ? b.break_status : Status::flushed, b.break_reason);
      b.break_status = Status::success;
      b.break_reason = Refusal::none;
    }
    c.sq_next = c.sq_done;
    while (c.rq_done != c.rq_posted && has_room(c.receive_cq)) {
      c.receive_entry = c.rq_done;
      completions_.finish_receive(c, {.status = Status::flushed});
    }
    b.breaking = c.sq_done != c.sq_posted || c.rq_done != c.rq_posted;
  }

  // ---- capabilities for regions

  // What stands in scratch_, a T, gets the seal at its end.
  template <class T>
  void seal(std::uint64_t block, wire::Qpn stateful, wire::Psn number) {
    core_.world.touch(OnChip::capability, block);
    const std::span<const std::byte> said = std::span(scratch_).template first<T::kSealed>();
    const wire::StarMac mac = seal_of(core_.state.capabilities.seal_key(block), stateful, number, said);
    std::memcpy(scratch_.data() + T::kSealed, mac.data(), mac.size());
  }

  // The stateful side asks what the connection may do with a key that its program has. The host tells it when something
  // of that is taken back.
  void grant(const wire::Packet& p) {
    Refusal why = Refusal::none;
    StatelessBlock* b = block_of(p, why);
    if (b == nullptr) return refuse(p, why);
    const Context& c = b->context;
    if (c.state == QpState::error) return refuse(p, Refusal::star_peer_gone);
    if (p.payload.size() != wire::StarQuestion::kBytes) return refuse(p, Refusal::star_bad_payload);
    const wire::Key key = wire::star_read<wire::StarQuestion>(p.payload.near(), 0).key;
    wire::Capability wanted{.key = key};
    const Region* region = core_.state.memory.find(key);
    std::byte* unused = nullptr;
    why = core_.translate(c, key, Rights::none, region == nullptr ? 0 : region->base, 0, unused);
    if (why != Refusal::none) return refuse(p, why);
    using R = wire::StarRights;
    const Rights both = region->rights & c.rights;
    wanted.rights = static_cast<std::uint8_t>((includes(both, Rights::remote_write) ? R::remote_write : 0) |
                                              (includes(both, Rights::remote_read) ? R::remote_read : 0) |
                                              (includes(both, Rights::remote_atomic) ? R::remote_atomic : 0));
    const wire::Capability issued = issue(holder(p), wanted);
    start_answer(p, Refusal::none);
    if (!b->granted) core_.world.write(BusWrite::block, &b->granted, sizeof b->granted);
    b->granted = true;
    wire::star_write(scratch_.data(), wire::StarGrant{.key = key,
                                                      .rights = issued.rights,
                                                      .epoch = issued.epoch,
                                                      .is_window = region->kind != RegionKind::region,
                                                      .mac = issued.mac,
                                                      .base = region->base,
                                                      .length = region->length,
                                                      .rules = b->rules,
                                                      .domain = region->domain});
    seal<wire::StarGrant>(block_name(core_.state.blocks->slot_of(*b), b->generation), p.headers.bth.destination,
                          p.headers.bth.psn);
    core_.count(Counter::acks_sent);
    send_scratch(wire::StarGrant::kBytes);
  }

  // ---- WQEPs

  [[nodiscard]] Holder peer_of(const Context& c) const { return {c.peer, c.peer_qpn}; }

  wire::Headers& start_wqep(const Context& c) {
    wire::Headers& h = core_.start_packet(c, wire::Opcode::star_wqep, wire::Psn{});
    core_.out.flow.to = wire::UdpPort::stateful;
    h.reth.address = 0;
    wire::StarView::set_opt(h, wire::StarOpt::send);
    wire::StarView::set_lane(h, wire::lane_number(c.qpn));
    wire::StarView::set_answer(h, {Refusal::none, clock()});
    if (trusts()) wire::StarView::set_plain(h);
    return h;
  }

  // The state moves: the paper's M.
  void migrate(const StatelessBlock& b) {
    const Context& c = b.context;
    const std::uint64_t name = block_name(core_.state.blocks->slot_of(b), b.generation);
    const wire::Capability control = issue(peer_of(c), {.rights = wire::StarRights::control, .base = name});
    start_wqep(c).bth.solicited = true;
    wire::star_write(scratch_.data(),
                     wire::StarInitial{.qpn = c.qpn,
                                       .rules = b.rules,
                                       .domain = c.domain,
                                       .block = name,
                                       .epoch = control.epoch,
                                       .rnr_retry = c.rnr_retry,
                                       .min_rnr_timer = c.min_rnr_timer,
                                       .saved = c.saved_size,
                                       .broken = c.state == QpState::error,
                                       .trusts = trusts(),
                                       .era = b.era,
                                       .control = control.mac,
                                       .key = b.room == 0 ? core_.state.capabilities.seal_key(name) : wire::StarMac{}});
    seal<wire::StarInitial>(name, c.peer_qpn, {});
    send_scratch(wire::StarInitial::kBytes);
  }

  // One WQEP with as many entries as fit into a packet and the stateful side has room for. False: there is nothing.
  [[nodiscard]] bool tell(StatelessBlock& b, bool receives) {
    const Context& c = b.context;
    std::uint32_t& told = receives ? b.receives_told : b.works_told;
    // In SQD, while the connection is about to move, only what was begun.
    const std::uint32_t works = c.state == QpState::sqd ? b.works_begun : c.sq_posted;
    const std::uint32_t posted = receives ? c.rq_posted : works, done = receives ? c.rq_done : c.sq_done;
    std::size_t at = wire::StarPosts::kBytes;
    const std::uint32_t first = told;
    while (told != posted && told - done < b.room && told - first < 255) {
      const std::size_t bytes = receives ? receive_bytes(c, told) : work_bytes(c, told);
      if (at + bytes > wire::kStarControlBytes && told != first) break;
      receives ? write_receive(c, told, scratch_.data() + at) : write_work(c, told, scratch_.data() + at);
      at += bytes;
      ++told;
    }
    if (told == first) return false;
    if (!receives && static_cast<std::int32_t>(told - b.works_begun) > 0) b.works_begun = told;
    start_wqep(c);
    wire::star_write(scratch_.data(), wire::StarPosts{receives, static_cast<std::uint8_t>(told - first),
                                                      core_.state.capabilities.epoch(), first});
    send_scratch(at);
    return true;
  }

  // Is the stateful side there? An EA says so.
  void ask(StatelessBlock& b) {
    b.asks = false;
    start_wqep(b.context);
    wire::star_write(scratch_.data(), wire::StarPosts{false, 0, core_.state.capabilities.epoch(), b.works_told});
    send_scratch(wire::StarPosts::kBytes);
  }

  [[nodiscard]] const Work& work(const Context& c, std::uint32_t entry) { return read_work_again(core_, c, entry); }
  [[nodiscard]] std::size_t work_bytes(const Context& c, std::uint32_t entry) {
    const Work& w = work(c, entry);
    const bool is_inline = (w.flags & WorkFlags::inline_data) != 0;
    return wire::StarWork::kBytes + (is_inline ? (w.length + 7) & ~7U : w.sges * wire::StarSge::kBytes);
  }
  void write_work(const Context& c, std::uint32_t entry, std::byte* at) {
    const Work& w = work(c, entry);
    wire::StarWork out{.kind = static_cast<std::uint8_t>(w.kind),
                       .flags = w.flags,
                       .sges = w.sges,
                       .length = w.length,
                       .immediate = w.immediate,
                       .key = wire::Key(w.key),
                       .address = w.remote.address,
                       .compare_add = w.remote.compare_add,
                       .swap = w.remote.swap};
    std::byte* tail = at + wire::StarWork::kBytes;
    if ((w.flags & WorkFlags::inline_data) != 0) {
      std::memset(tail, 0, (w.length + 7) & ~7U);
      std::memcpy(tail, inline_bytes_of(w), w.length);
    } else {
      const bool takes = reads_back(w.kind);
      out.refusal = write_sges(c, sges_of(w), takes, tail);
    }
    wire::star_write(at, out);
  }
  [[nodiscard]] std::size_t receive_bytes(const Context& c, std::uint32_t entry) {
    return wire::StarWork::kBytes + read_receive_under_way(core_, c, entry).sges * wire::StarSge::kBytes;
  }
  void write_receive(const Context& c, std::uint32_t entry, std::byte* at) {
    const Receive& r = read_receive_under_way(core_, c, entry);
    wire::StarWork out{.sges = static_cast<std::uint8_t>(r.sges), .length = r.length};
    out.refusal = write_sges(c, sges_of(r), true, at + wire::StarWork::kBytes);
    wire::star_write(at, out);
  }
  // Each element with a capability for exactly its bytes. The first refusal of our own gate travels instead: the work
  // fails when its turn comes, as it would on any card.
  [[nodiscard]] Refusal write_sges(const Context& c, std::span<const Sge> sges, bool writes, std::byte* at) {
    Refusal first = Refusal::none;
    for (const Sge& s : sges) {
      std::byte* unused = nullptr;
      const Refusal r = s.length == 0 ? Refusal::none
                                      : core_.translate(c, s.key, writes ? Rights::local_write : Rights::none,
                                                        s.address, s.length, unused);
      if (first == Refusal::none) first = r;
      const std::uint8_t rights = writes ? wire::StarRights::work_write : wire::StarRights::work_read;
      const wire::Capability cap = r != Refusal::none || s.length == 0
                                       ? wire::Capability{}
                                       : issue(peer_of(c), {s.key, rights, 0, s.length, s.address, {}});
      wire::star_write(at, wire::StarSge{s.address, s.length, s.key, cap.mac});
      at += wire::StarSge::kBytes;
    }
    return first;
  }

  Core<W>& core_;
  Completions<W>& completions_;
  StarGate<W> gate_{core_};
  std::array<std::byte, wire::kStarControlBytes> scratch_;  // the payload of the control packet under construction
};

}  // namespace weft::nic
