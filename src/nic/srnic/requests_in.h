// The responder's half: SENDs find their receive entry by SEND sequence number, WRITEs say where they go, and both are
// placed on arrival, in any order. READs and atomics wait for their turn, and so do completions. What cannot be carried
// out is answered only when it is its turn; ahead of it, it is as if it had been lost.
#pragma once

#include <atomic>

#include "base/canary.h"
#include "nic/breaking.h"
#include "nic/srnic/far_writes.h"
#include "nic/srnic/receipts.h"
#include "nic/srnic/responses_out.h"
#include "nic/srnic/streams.h"
#include "nic/verdict.h"

namespace weft::nic {

template <World W>
class RequestsIn {
 public:
  RequestsIn(Core<W>& core, Endings<W>& endings, Receipts<W>& receipts, ResponsesOut<W>& responses)
      : core_(core), endings_(endings), receipts_(receipts), responses_(responses) {}

  bool in_order(Context& c, const wire::Packet& p) {
    Ending end;
    if (const Verdict v = place(c, p, end); v.refusal() != Refusal::none) return refuse(c, v, p.headers);
    return end.nothing() || finish(c, end);
  }

  Early early(Context& c, const wire::Packet& p) {
    const bool oldest = p.headers.bth.psn == c.expected_psn;
    Ending end;
    if (const Verdict v = place(c, p, end); v.refusal() != Refusal::none) {
      // The oldest of all cannot get better by being sent again: it is its turn, whatever is behind it.
      oldest ? void(refuse(c, v, p.headers)) : core_.refuse(v.refusal());
      return Early::dropped;
    }
    if (end.nothing() || canary(Canary::early_end_forgotten)) return Early::placed;
    if (canary(Canary::early_atomic_done) && end.asks) (void)finish(c, end);
    EarlyNote* note = core_.state.early.add(c.srnic.in.early, p.headers.bth.psn,
                                            end.asks ? EarlyNote::Kind::request : EarlyNote::Kind::receive_end);
    if (note == nullptr) {
      // Notes may all be of packets behind this one: without it none of them would ever be free again.
      if (oldest) return finish(c, end) ? Early::finished : Early::dropped;
      core_.refuse(Refusal::early_full);
      return Early::dropped;
    }
    remember(*note, end, p);
    return Early::placed;
  }

  bool deliver(Context& c, const EarlyNote& note) {
    wire::Headers headers;
    headers.bth.opcode = note.opcode;
    headers.bth.solicited = note.solicited;
    headers.sequence = note.sequence;
    Ending end{.bytes = note.bytes, .headers = &headers};
    if (note.kind == EarlyNote::Kind::request) {
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

  [[gnu::cold, gnu::noinline]] bool refuse(Context& c, const Verdict& v, const wire::Headers& h) {
    const wire::Sequence at = h.sequence;
    if (v.refusal() == Refusal::payload_gone) {  // it comes again, if its sender still stands by it
      core_.refuse(v.refusal());
      return false;
    }
    if (v.refusal() != Refusal::no_receive) {
      // Its receive ends with it. One that a later message has taken is not to blame for a WRITE.
      if (wire::info(h.bth.opcode).verb == wire::Verb::send) c.inbound = Inbound::send;
      receipts_.owe_refusal(c, v.nak(), v.status(), v.refusal(), at);
      return false;
    }
    core_.refuse(v.refusal());
    core_.count(Counter::out_of_buffer);
    core_.count(Counter::send_rnr_err);
    if (!requests_in(c).recovering()) c.srnic.in.newest = at;
    receipts_.owe(c, Stream::requests_in, wire::Syndrome::rnr(c.min_rnr_timer));
    return false;
  }

  Verdict place(Context& c, const wire::Packet& p, Ending& end) {
    const wire::OpcodeInfo& info = wire::info(p.headers.bth.opcode);
    if (const Refusal r = judge_shape(c, p, info); r != Refusal::none) return invalid(r);
    if (info.verb == wire::Verb::send) return place_send(c, p, info, end);
    if (info.verb == wire::Verb::write) return place_write(c, p, info, end);
    end.asks = true;
    end.headers = &p.headers;
    return {};
  }

  Verdict place_send(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info, Ending& end) {
    const std::uint64_t offset = std::uint64_t{p.headers.sequence.offset()} << c.mtu_shift;
    if (!number_possible(c, p)) return invalid(Refusal::not_continued);
    std::uint32_t entry = 0;
    if (!find_receive(c, p, entry)) return invalid(Refusal::no_receive);
    const Receive& r = endings_.receive_at(c, entry);
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

  Verdict place_write(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info, Ending& end) {
    if (!includes(c.rights, Rights::remote_write)) return invalid(Refusal::operation_not_allowed);
    if (info.immediate && !number_possible(c, p)) return invalid(Refusal::not_continued);
    if (!p.payload.empty()) {
      std::byte* at = nullptr;
      const wire::Reth& target = p.headers.reth;
      const Refusal why = core_.translate(c, target.key, Rights::remote_write, target.address, p.payload.size(), at);
      if (why != Refusal::none) return denied(why);
      if (info.immediate && !has_receive(c, p)) return invalid(Refusal::no_receive);
      const bool placed = p.payload.is_far() ? far_writes_.place(c, p, at) : core_.place(at, p.payload);
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
    const Receive& r = endings_.receive_at(c, count);
    core_.count(Counter::receive_wqes_fetched);
    core_.world.read(BusRead::receive, &r, sizeof(Receive) + r.sges * sizeof(Sge));
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
    EarlyNotes& notes = core_.state.early;
    std::uint32_t newest = c.rq_done;
    if (const EarlyNote* taken = notes.newest_taken(c.srnic.in.early)) {
      newest = taken->ssn;
      if (taken->psn.ahead_of(psn) > 0) psn = taken->psn;  // in the list, too, in the order of messages
    }
    const std::uint32_t before = newest - c.rq_done, wanted = count - c.rq_done;
    if (wanted <= before) {
      const EarlyNote* note = notes.find_taken(c.srnic.in.early, count);
      if (note != nullptr) entry = note->entry;
      return note != nullptr;
    }
    for (std::uint32_t ssn = newest + 1; ssn != count + 1; ++ssn) {
      if (core_.state.srqs[c.shared_rq].available() == 0) return false;
      EarlyNote* note = notes.add_taken(c.srnic.in.early, psn, ssn);
      if (note == nullptr) return false;
      const std::uint32_t current = std::exchange(c.receive_entry, kNone);
      (void)endings_.take_receive(c);
      entry = note->entry = std::exchange(c.receive_entry, current);
    }
    return true;
  }
  [[nodiscard]] bool take_current(Context& c) {
    if (c.receive_entry != kNone) return true;
    if (c.shared_rq != kNone) {
      if (const EarlyNote* taken = core_.state.early.take_taken(c.srnic.in.early, c.rq_done)) {
        c.receive_entry = taken->entry;
        return true;
      }
    }
    return endings_.take_receive(c);
  }

  static void remember(EarlyNote& note, const Ending& end, const wire::Packet& p) {
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
      const Verdict v = info.reth ? read(c, h) : atomic(c, h, info);
      return v.refusal() == Refusal::none || refuse(c, v, h);
    }
    // Who numbers SENDs wrongly may have filled another entry than the one that is due.
    if (wire::Sequence::unfold(h.sequence.ssn(), c.rq_done) != c.rq_done || !take_current(c)) {
      return refuse(c, invalid(Refusal::not_continued), h);
    }
    if (info.ieth) [[unlikely]] {
      core_.recall_behind(h.invalidate.key);
      const Refusal why = core_.state.memory.invalidate(h.invalidate.key, core_.asker(c));
      if (why != Refusal::none) return refuse(c, denied(why), h);
    }
    const bool write = info.verb == wire::Verb::write;
    endings_.finish_receive(c, {.kind = write ? CompletionKind::receive_write_immediate : CompletionKind::receive,
                                .bytes = end.bytes,
                                .headers = &h});
    return c.state != QpState::error;
  }

  Verdict read(Context& c, const wire::Headers& h) {
    if (!includes(c.rights, Rights::remote_read)) return invalid(Refusal::operation_not_allowed);
    if (h.reth.length > kMaxMessage) return invalid(Refusal::too_long);
    if (h.reth.length > 0) {
      std::byte* unused = nullptr;
      const Refusal why = core_.translate(c, h.reth.key, Rights::remote_read, h.reth.address, h.reth.length, unused);
      if (why != Refusal::none) return denied(why);
    }
    SavedResponse* s = responses_.save(c, h.sequence, packets_of(h.reth.length, c.mtu_shift));
    if (s == nullptr) return invalid(Refusal::too_many_reads);
    s->address = h.reth.address;
    s->key = h.reth.key;
    s->length = h.reth.length;
    return {};
  }

  Verdict atomic(Context& c, const wire::Headers& h, const wire::OpcodeInfo& info) {
    if (!includes(c.rights, Rights::remote_atomic)) return invalid(Refusal::operation_not_allowed);
    if (h.atomic.address % 8 != 0) return invalid(Refusal::misaligned_atomic);
    std::byte* at = nullptr;
    const Refusal why = core_.translate(c, h.atomic.key, Rights::remote_atomic, h.atomic.address, 8, at);
    if (why != Refusal::none) return denied(why);
    std::uint64_t* word = word_at(at);
    if (word == nullptr) return invalid(Refusal::misaligned_atomic);
    SavedResponse* s = responses_.save(c, h.sequence, 1);
    if (s == nullptr) return invalid(Refusal::too_many_reads);
    s->atomic = true;
    s->original = swap_or_add(*word, h.atomic, info.verb == wire::Verb::fetch_add);
    return {};
  }

  Core<W>& core_;
  Endings<W>& endings_;
  Receipts<W>& receipts_;
  ResponsesOut<W>& responses_;
  FarWrites<W> far_writes_{core_};
};

}  // namespace weft::nic
