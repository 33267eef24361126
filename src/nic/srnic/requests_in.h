// The responder's half: SENDs find their receive entry by SEND sequence number, WRITEs say where they go, and both are
// placed on arrival, in any order. READs and atomics wait for their turn, and so do completions. What cannot be carried
// out is answered only when it is its turn; ahead of it, it is as if it had been lost.
#pragma once

#include <atomic>

#include "base/canary.h"
#include "nic/completions.h"
#include "nic/rc/admit.h"
#include "nic/rc/calls.h"
#include "nic/rc/replies.h"
#include "nic/srnic/acks.h"
#include "nic/srnic/one_copy_writes.h"
#include "nic/srnic/responses_out.h"
#include "nic/srnic/streams.h"

namespace weft::nic {

template <World W>
class RequestsIn {
 public:
  RequestsIn(Core<W>& core, Completions<W>& completions, Acks<W>& acks, ResponsesOut<W>& responses, Calls<W>& calls)
      : core_(core), completions_(completions), acks_(acks), responses_(responses), calls_(calls) {}

  bool in_order(Context& c, const wire::Packet& p) {
    Ending end;
    if (const Admission v = place(c, p, end); v.refusal() != Refusal::none) return refuse(c, v, p.headers);
    return end.nothing() || finish(c, end);
  }

  OutOfOrder out_of_order(Context& c, const wire::Packet& p) {
    const bool oldest = p.headers.bth.psn == c.expected_psn;
    // What a kernel does cannot be done ahead of its turn, nor remembered.
    if (is_of_kernels(wire::info(p.headers.bth.opcode))) [[unlikely]] {
      if (oldest) return in_order(c, p) ? OutOfOrder::finished : OutOfOrder::dropped;
      core_.refuse(Refusal::kernel_ahead);
      return OutOfOrder::dropped;
    }
    Ending end;
    if (const Admission v = place(c, p, end); v.refusal() != Refusal::none) {
      // The oldest of all cannot get better by being sent again: it is its turn, whatever is behind it.
      oldest ? void(refuse(c, v, p.headers)) : core_.refuse(v.refusal());
      return OutOfOrder::dropped;
    }
    if (end.nothing() || canary(Canary::early_end_forgotten)) return OutOfOrder::placed;
    if (canary(Canary::early_atomic_done) && end.asks) (void)finish(c, end);
    ReorderNote* note = core_.state.reorder_notes.add(
        c.srnic.in.notes, p.headers.bth.psn, end.asks ? ReorderNote::Kind::request : ReorderNote::Kind::receive_end);
    if (note == nullptr) {
      // Notes may all be of packets behind this one: without it none of them would ever be free again.
      if (oldest) return finish(c, end) ? OutOfOrder::finished : OutOfOrder::dropped;
      core_.refuse(Refusal::early_full);
      return OutOfOrder::dropped;
    }
    remember(*note, end, p);
    write_note(core_, *note);
    return OutOfOrder::placed;
  }

  bool deliver(Context& c, const ReorderNote& note) {
    wire::Headers headers;
    headers.bth.opcode = note.opcode;
    headers.bth.solicited = note.solicited;
    headers.sequence = note.sequence;
    Ending end{.bytes = note.bytes, .headers = &headers};
    if (note.kind == ReorderNote::Kind::request) {
      end.asks = true;
      wire::info(note.opcode).reth ? void(headers.reth = note.reth) : void(headers.atomic = note.atomic);
    } else {
      end.receives = true;
      headers.immediate.value = note.immediate;
      headers.invalidate.key = wire::Key(note.immediate);
    }
    return finish(c, end);
  }

 private:
  // What a packet does when its turn has come, beyond being in its place.
  struct Ending {
    bool receives = false, asks = false;  // finishes a receive; is a READ or atomic
    std::uint32_t bytes = 0;              // of the message
    const wire::Headers* headers = nullptr;
    [[nodiscard]] bool nothing() const { return !receives && !asks; }
  };

  [[gnu::cold, gnu::noinline]] bool refuse(Context& c, const Admission& v, const wire::Headers& h) {
    const wire::Sequence at = h.sequence;
    if (v.refusal() == Refusal::payload_gone) {  // it comes again, if its sender still stands by it
      core_.refuse(v.refusal());
      return false;
    }
    if (!is_passing(v.refusal())) {
      // Its receive ends with it. One that a later message has taken is not to blame for a WRITE.
      if (wire::info(h.bth.opcode).verb == wire::Verb::send) c.inbound = Inbound::send;
      acks_.owe_refusal(c, v.nak(), v.status(), v.refusal(), at);
      return false;
    }
    core_.refuse(v.refusal());
    if (v.refusal() == Refusal::no_receive) core_.count(Counter::out_of_buffer);
    core_.count(Counter::send_rnr_err);
    if (!requests_in(c).recovering()) c.srnic.in.newest = at;
    acks_.owe(c, Stream::requests_in, wire::Syndrome::rnr(c.min_rnr_timer));
    return false;
  }

  Admission place(Context& c, const wire::Packet& p, Ending& end) {
    const wire::OpcodeInfo& info = wire::info(p.headers.bth.opcode);
    if (const Refusal r = judge_shape(c, p, info); r != Refusal::none) return invalid(r);
    if (info.verb == wire::Verb::send) return place_send(c, p, info, end);
    if (info.verb == wire::Verb::write) return place_write(c, p, info, end);
    if (is_of_kernels(info)) return carry_out(c, p, info, end);
    end.asks = true;
    end.headers = &p.headers;
    return {};
  }

  Admission place_send(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info, Ending& end) {
    const std::uint64_t offset = std::uint64_t{p.headers.sequence.offset()} << c.mtu_shift;
    if (!number_possible(c, p)) return invalid(Refusal::not_continued);
    std::uint32_t entry = 0;
    if (!find_receive(c, p, entry)) return invalid(Refusal::no_receive);
    const Receive& r = read_receive_under_way(core_, c, entry);
    if (offset + p.payload.size() > r.length) {
      return {Refusal::receive_too_small, wire::NakCode::invalid_request, Status::local_length};
    }
    if (const Refusal why = scatter(core_, c, sges_of(r), offset, p.payload); why != Refusal::none) {
      return {why, wire::NakCode::remote_operation, Status::local_protection};
    }
    if (!info.ends()) return {};
    end.receives = true;
    end.bytes = static_cast<std::uint32_t>(offset + p.payload.size());
    end.headers = &p.headers;
    return {};
  }

  Admission place_write(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info, Ending& end) {
    std::byte* at = nullptr;
    const wire::Reth target{p.headers.reth.address, p.headers.reth.key, static_cast<std::uint32_t>(p.payload.size())};
    if (info.immediate && !number_possible(c, p)) return invalid(Refusal::not_continued);
    if (const Admission v = admit_write(core_, c, target, at); v.refusal() != Refusal::none) return v;
    if (!p.payload.empty()) {
      if (info.immediate && !has_receive(c, p)) return invalid(Refusal::no_receive);
      const bool placed = p.payload.is_exported() ? one_copy_writes_.place(c, p, at) : core_.dma_write(at, p.payload);
      if (!placed) return invalid(Refusal::payload_gone);
    } else if (info.immediate && !has_receive(c, p)) {
      return invalid(Refusal::no_receive);
    }
    if (!info.immediate) return {};
    end.receives = true;
    end.bytes =
        static_cast<std::uint32_t>((std::uint64_t{p.headers.sequence.offset()} << c.mtu_shift) + p.payload.size());
    end.headers = &p.headers;
    return {};
  }

  [[nodiscard]] static bool is_of_kernels(const wire::OpcodeInfo& info) {
    return info.verb == wire::Verb::rpc || info.verb == wire::Verb::rpc_write || info.verb == wire::Verb::reply;
  }
  // Only in its turn.
  [[gnu::noinline]] Admission carry_out(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info, Ending& end) {
    if (p.payload.is_exported()) return invalid(Refusal::payload_not_allowed);
    if (info.verb == wire::Verb::rpc) return calls_.call(c, p.headers.reth, p.payload.near());
    if (info.verb == wire::Verb::rpc_write) {
      const std::uint64_t offset = std::uint64_t{p.headers.sequence.offset()} << c.mtu_shift;
      wire::Reth to = p.headers.reth;
      to.address -= offset;  // it moves on with the packets, as a WRITE's does
      return calls_.payload(c, to, p.payload.near(), offset, info.ends());
    }
    ReplyPlace place;
    if (info.immediate && !number_possible(c, p)) return invalid(Refusal::not_continued);
    if (const Admission v = admit_reply(core_, c, p, place); v.refusal() != Refusal::none) return v;
    if (info.immediate && !has_receive(c, p)) return invalid(Refusal::no_receive);
    place_reply(core_, p, place);
    if (!info.immediate) return {};
    end.receives = true;
    end.bytes = place.bytes;
    end.headers = &p.headers;
    return {};
  }

  // Each message between the one whose turn it is and this one has at least a packet. So a packet in its turn is of the
  // message whose turn it is.
  [[nodiscard]] static bool number_possible(const Context& c, const wire::Packet& p) {
    const std::uint32_t ahead = wire::Sequence::unfold(p.headers.sequence.ssn(), c.rq_done) - c.rq_done;
    return ahead <= p.headers.bth.psn.since(c.expected_psn);
  }

  // The receive entry for a message, whether or not those before it have ended; false when there is none yet.
  // An entry of an own queue is a free-running count, so any number may be one.
  [[nodiscard]] bool find_receive(Context& c, const wire::Packet& p, std::uint32_t& entry) {
    const std::uint32_t count = wire::Sequence::unfold(p.headers.sequence.ssn(), c.rq_done);
    if (count != c.rq_done) [[unlikely]]
      return find_later_receive(c, p, count, entry);
    if (!take_current(c)) return false;
    entry = c.receive_entry;
    return true;
  }
  [[nodiscard, gnu::noinline]] bool find_later_receive(Context& c, const wire::Packet& p, std::uint32_t count,
                                                       std::uint32_t& entry) {
    if (c.shared_rq != kNone) return take_shared(c, count, p.headers.bth.psn, entry);
    if (count - c.rq_done >= c.rq_posted - c.rq_done) return false;
    ReceiveFetch<W>(core_).take(c, count);
    entry = count;
    return true;
  }
  [[nodiscard]] bool has_receive(Context& c, const wire::Packet& p) {
    std::uint32_t unused = 0;
    return find_receive(c, p, unused);
  }
  // Messages take entries of a shared receive queue in their order, also those that have not come yet: if later ones
  // could take the last entries, the one before them could never end, and they could not either.
  [[nodiscard]] bool take_shared(Context& c, std::uint32_t count, wire::Psn psn, std::uint32_t& entry) {
    if (!take_current(c)) return false;
    ReorderNotes& notes = core_.state.reorder_notes;
    std::uint32_t newest = c.rq_done;
    if (const ReorderNote* taken = read_note(core_, notes.newest_taken(c.srnic.in.notes))) {
      newest = taken->ssn;
      if (taken->psn.ahead_of(psn) > 0) psn = taken->psn;  // in the list, too, in the order of messages
    }
    const std::uint32_t before = newest - c.rq_done, wanted = count - c.rq_done;
    if (wanted <= before) {
      const ReorderNote* note = read_note(core_, notes.find_taken(c.srnic.in.notes, count));
      if (note != nullptr) entry = note->entry;
      return note != nullptr;
    }
    for (std::uint32_t ssn = newest + 1; ssn != count + 1; ++ssn) {
      if (core_.state.srqs[c.shared_rq].available() == 0) return false;
      ReorderNote* note = notes.add_taken(c.srnic.in.notes, psn, ssn);
      if (note == nullptr) return false;
      const std::uint32_t current = std::exchange(c.receive_entry, kNone);
      (void)completions_.take_receive(c);
      entry = note->entry = std::exchange(c.receive_entry, current);
      write_note(core_, *note);
    }
    return true;
  }
  [[nodiscard]] bool take_current(Context& c) {
    if (c.receive_entry != kNone) return true;
    if (c.shared_rq != kNone) {
      ReorderNotes& notes = core_.state.reorder_notes;
      if (const ReorderNote* taken = read_note(core_, notes.take_taken(c.srnic.in.notes, c.rq_done))) {
        c.receive_entry = taken->entry;
        return true;
      }
    }
    return completions_.take_receive(c);
  }

  static void remember(ReorderNote& note, const Ending& end, const wire::Packet& p) {
    const wire::OpcodeInfo& info = wire::info(p.headers.bth.opcode);
    note.opcode = p.headers.bth.opcode;
    note.solicited = p.headers.bth.solicited;
    note.sequence = p.headers.sequence;
    note.bytes = end.bytes;
    if (info.immediate) note.immediate = p.headers.immediate.value;
    if (info.ieth) note.immediate = p.headers.invalidate.key.raw();
    if (info.reth) note.reth = p.headers.reth;
    if (info.atomic_eth) note.atomic = p.headers.atomic;
  }

  // Its turn has come. False: refused.
  bool finish(Context& c, const Ending& end) {
    const wire::Headers& h = *end.headers;
    const wire::OpcodeInfo& info = wire::info(h.bth.opcode);
    if (end.asks) [[unlikely]] {
      const Admission v = info.reth ? read(c, h) : atomic(c, h, info);
      return v.refusal() == Refusal::none || refuse(c, v, h);
    }
    // Who numbers SENDs wrongly may have filled another entry than the one that is due.
    if (wire::Sequence::unfold(h.sequence.ssn(), c.rq_done) != c.rq_done || !take_current(c)) {
      return refuse(c, invalid(Refusal::not_continued), h);
    }
    if (info.ieth) [[unlikely]] {
      core_.revoke_behind(h.invalidate.key);
      const Refusal why = core_.state.memory.invalidate(h.invalidate.key, core_.asker(c));
      if (why != Refusal::none) return refuse(c, denied(why), h);
    }
    const bool write = info.verb != wire::Verb::send;
    completions_.finish_receive(c, {.kind = write ? CompletionKind::receive_write_immediate : CompletionKind::receive,
                                    .bytes = end.bytes,
                                    .headers = &h});
    return c.state != QpState::error;
  }

  Admission read(Context& c, const wire::Headers& h) {
    if (const Admission v = admit_read(core_, c, h.reth); v.refusal() != Refusal::none) return v;
    SavedResponse* s = responses_.save(c, h.sequence, packets_of(h.reth.length, c.mtu_shift));
    if (s == nullptr) return invalid(Refusal::too_many_reads);
    grant_read(*s, h.reth);
    write_saved(core_, *s);
    return {};
  }

  Admission atomic(Context& c, const wire::Headers& h, const wire::OpcodeInfo& info) {
    std::uint64_t* word = nullptr;
    if (const Admission v = admit_atomic(core_, c, h.atomic, word); v.refusal() != Refusal::none) return v;
    SavedResponse* s = responses_.save(c, h.sequence, 1);
    if (s == nullptr) return invalid(Refusal::too_many_reads);
    grant_atomic(core_, *s, *word, h.atomic, info.verb == wire::Verb::fetch_add);
    write_saved(core_, *s);
    return {};
  }

  Core<W>& core_;
  Completions<W>& completions_;
  Acks<W>& acks_;
  ResponsesOut<W>& responses_;
  Calls<W>& calls_;
  OneCopyWrites<W> one_copy_writes_{core_};
};

}  // namespace weft::nic
