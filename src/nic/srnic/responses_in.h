// Responses to our READs and atomics. Each says which work entry it answers and where in it it goes, so it is placed on
// arrival, in any order; the work is done when its turn comes. A response that fits nothing we asked for is dropped: it
// never breaks a connection.
#pragma once

#include <algorithm>
#include <span>

#include "nic/completions.h"
#include "nic/srnic/requests_out.h"
#include "nic/srnic/streams.h"

namespace weft::nic {

template <World W>
class ResponsesIn {
 public:
  ResponsesIn(Core<W>& core, Completions<W>& completions, RequestsOut<W>& requests)
      : core_(core), completions_(completions), requests_(requests) {}

  bool in_order(Context& c, const wire::Packet& p) {
    const Answer a = judge(c, p);
    if (a.why != Refusal::none) return drop(a.why);
    if (const Refusal r = place(c, a, p); r != Refusal::none) return fail(c, a.entry, r);
    if (a.ends) requests_.answered(c, a.entry);
    return c.state != QpState::error;
  }

  OutOfOrder out_of_order(Context& c, const wire::Packet& p) {
    const bool oldest = p.headers.bth.psn == c.responses.in_expected;
    const Answer a = judge(c, p);
    if (a.why != Refusal::none) {
      core_.refuse(a.why);
      return OutOfOrder::dropped;
    }
    if (const Refusal r = place(c, a, p); r != Refusal::none) {
      oldest ? void(fail(c, a.entry, r)) : core_.refuse(r);
      return OutOfOrder::dropped;
    }
    if (!a.ends) return OutOfOrder::placed;
    ReorderNote* note =
        core_.state.reorder_notes.add(c.responses.in.notes, p.headers.bth.psn, ReorderNote::Kind::response_end);
    if (note == nullptr) {
      if (!oldest) {
        core_.refuse(Refusal::early_full);
        return OutOfOrder::dropped;
      }
      requests_.answered(c, a.entry);
      return OutOfOrder::finished;
    }
    note->entry = a.entry;
    write_note(core_, *note);
    return OutOfOrder::placed;
  }

  bool deliver(Context& c, const ReorderNote& note) {
    requests_.answered(c, note.entry);
    return c.state != QpState::error;
  }

 private:
  struct Answer {
    Refusal why = Refusal::none;
    std::uint32_t entry = 0;
    std::uint64_t offset = 0;
    bool ends = false;
  };

  [[gnu::cold, gnu::noinline]] bool drop(Refusal why) {
    core_.refuse(why);
    return false;
  }
  // Responses come in the order of their requests, so what is answered now is the oldest, once what the answer proves
  // has been acknowledged.
  [[gnu::cold, gnu::noinline]] bool fail(Context& c, std::uint32_t entry, Refusal why) {
    if (entry != c.sq_done || why == Refusal::payload_gone) return drop(why);
    completions_.fail_work(c, Status::local_protection, why);
    return false;
  }

  Answer judge(const Context& c, const wire::Packet& p) {
    const wire::OpcodeInfo& info = wire::info(p.headers.bth.opcode);
    Answer a;
    a.entry = wire::Sequence::unfold(p.headers.sequence.msn(), c.sq_done);
    if (a.entry - c.sq_done >= c.sq_next - c.sq_done) return {.why = Refusal::response_unexpected};
    const Work& w = read_scatter_under_way(core_, c, a.entry);
    const bool atomic = info.verb == wire::Verb::atomic_ack;
    if (atomic ? !is_atomic(w.kind) : w.kind != WorkKind::read) return {.why = Refusal::response_unexpected};
    if ((w.flags & WorkFlags::answered) != 0) return {.why = Refusal::response_unexpected};
    if (atomic) {
      a.ends = true;
      return p.headers.sequence.offset() == 0 ? a : Answer{.why = Refusal::response_out_of_order};
    }
    a.offset = std::uint64_t{p.headers.sequence.offset()} << c.mtu_shift;
    if (a.offset > w.length || (a.offset == w.length && w.length > 0)) return {.why = Refusal::response_out_of_order};
    const std::uint64_t most = std::uint64_t{p.packets} << c.mtu_shift;
    const std::uint64_t bytes = std::min<std::uint64_t>(most, w.length - a.offset);
    if (p.packets > 1 && bytes <= most - path_mtu(c)) return {.why = Refusal::response_bad_length};
    a.ends = a.offset + bytes == w.length;
    if (info.ends() != a.ends || info.starts() != (a.offset == 0)) return {.why = Refusal::response_out_of_order};
    return p.payload.size() == bytes ? a : Answer{.why = Refusal::response_bad_length};
  }

  Refusal place(Context& c, const Answer& a, const wire::Packet& p) {
    const Work& w = read_scatter_under_way(core_, c, a.entry);
    if (w.kind == WorkKind::read) return scatter(core_, c, sges_of(w), a.offset, p.payload);
    const std::uint64_t original = p.headers.atomic_ack.original;
    return scatter(core_, c, sges_of(w), 0, std::as_bytes(std::span<const std::uint64_t, 1>(&original, 1)));
  }

  Core<W>& core_;
  Completions<W>& completions_;
  RequestsOut<W>& requests_;
};

}  // namespace weft::nic
