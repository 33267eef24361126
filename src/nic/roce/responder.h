// The receiving half of a connection. Checks run in the order of IBA 9.7.4, each with its refusal: sequence,
// shape of the message, resources, rights; only then is anything placed. RC answers every refusal, UC drops the
// message and says nothing.
#pragma once

#include <algorithm>
#include <utility>

#include "base/canary.h"
#include "nic/completions.h"
#include "nic/rc/admit.h"
#include "nic/rc/calls.h"
#include "nic/rc/replies.h"
#include "nic/roce/responder_output.h"

namespace weft::nic {

template <World W>
class Responder {
 public:
  Responder(Core<W>& core, Completions<W>& completions, ResponderOutput<W>& output, Calls<W>& calls)
      : core_(core), completions_(completions), responder_output_(output), calls_(calls) {}

  void on_reliable(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (c.responder_stopped) return core_.refuse(Refusal::qp_not_ready);
    const std::int32_t ahead = p.headers.bth.psn.ahead_of(c.expected_psn);
    if (ahead < 0 && !canary(Canary::duplicate_carried_out)) return on_duplicate(c, p, info);
    if (ahead > 0) return on_gap(c, p.headers.bth.psn);
    const Admission v = execute(c, p, info);
    v.refusal() == Refusal::none ? accepted(c, p) : refused(c, v);
  }

  // IBA 9.8.2: a gap costs the message it is in, never the connection; the receive entry waits for the next one.
  void on_unreliable(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    const wire::Psn psn = p.headers.bth.psn;
    if (psn != c.expected_psn || info.starts()) {
      if (psn != c.expected_psn) core_.count(Counter::out_of_sequence);
      if (psn != c.expected_psn || c.inbound != Inbound::none) c.uc_skipping = true;
      c.inbound = Inbound::none;
      if (info.starts()) c.uc_skipping = false;
    }
    c.expected_psn = psn.plus(1);
    if (c.uc_skipping) return core_.refuse(Refusal::not_first);
    const Admission v = execute(c, p, info);
    if (v.refusal() == Refusal::none) return;
    core_.refuse(v.refusal());
    if (v.refusal() == Refusal::no_receive) core_.count(Counter::out_of_buffer);
    c.inbound = Inbound::none;
    c.uc_skipping = true;
    if (v.status() == Status::local_protection) completions_.fail_receive(c, v.refusal());
  }

 private:
  [[gnu::cold, gnu::noinline]] void refused(Context& c, const Admission& v) {
    if (!is_passing(v.refusal())) return responder_output_.owe_refusal(c, v.nak(), v.status(), v.refusal());
    core_.refuse(v.refusal());
    if (v.refusal() == Refusal::no_receive) core_.count(Counter::out_of_buffer);
    core_.count(Counter::send_rnr_err);
    c.nak_sent = true;  // what follows the refused packet is dropped without another word
    responder_output_.owe(c, wire::Syndrome::rnr(c.min_rnr_timer), c.expected_psn);
  }
  void accepted(Context& c, const wire::Packet& p) {
    c.nak_sent = false;
    // The gap is closed: a NAK would be a lie.
    if (c.owes_ack && !wire::Syndrome::is_ack(c.owed_syndrome)) c.owes_ack = false;
    if (p.headers.bth.ack_request && !replied_by_response(p)) {
      responder_output_.owe(c, wire::Syndrome::ack(), c.expected_psn.minus(1));
    }
  }
  static bool replied_by_response(const wire::Packet& p) {
    const wire::Verb verb = wire::info(p.headers.bth.opcode).verb;
    if (verb == wire::Verb::send || verb == wire::Verb::write) [[likely]]
      return false;
    return verb == wire::Verb::read_request || verb == wire::Verb::compare_swap || verb == wire::Verb::fetch_add;
  }

  [[gnu::cold, gnu::noinline]] void on_gap(Context& c, wire::Psn psn) {
    core_.refuse(Refusal::psn_ahead);
    core_.count(Counter::out_of_sequence);
    if (core_.state.config.naks_again) {
      const bool went_back = psn.ahead_of(std::exchange(c.roce.last_ahead, psn)) <= 0;
      if (went_back) c.nak_sent = false;
    }
    if (c.nak_sent) return;  // one NAK per gap
    c.nak_sent = true;
    responder_output_.owe(c, wire::Syndrome::nak(wire::NakCode::psn_sequence), c.expected_psn);
  }

  // A request that was carried out already. Nothing of the message under way may change.
  [[gnu::cold, gnu::noinline]] void on_duplicate(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    core_.count(Counter::duplicate_request);
    if (!replied_by_response(p)) {
      core_.refuse(Refusal::psn_duplicate);
      return responder_output_.owe_again(c);
    }
    SavedResponse* s = responder_output_.find(c, p.headers.bth.psn);
    const bool read = info.verb == wire::Verb::read_request;
    if (s == nullptr || s->atomic == read) return core_.refuse(Refusal::duplicate_too_old);
    if (read) {
      // All of it, or from some response on to the end: IBA 9.7.5.1.4. Never more than was granted.
      const wire::Reth& reth = p.headers.reth;
      const std::uint64_t offset = std::uint64_t{p.headers.bth.psn.since(s->first)} << c.mtu_shift;
      if (reth.key != s->key || reth.address != s->address + offset || reth.length != s->length - offset) {
        return core_.refuse(Refusal::duplicate_too_old);
      }
      // Answered once already: memory that is gone since then is no reason to break the connection.
      std::byte* unused = nullptr;
      if (const Refusal why = check_access(core_, c, reth, Rights::remote_read, unused); why != Refusal::none) {
        return core_.refuse(why);
      }
    }
    core_.count(Counter::read_responses_resent);
    responder_output_.respond(c, *s, p.headers.bth.psn);
  }

  Admission execute(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (const Refusal r = judge_shape(c, p, info); r != Refusal::none) return invalid(r);
    if (info.verb == wire::Verb::send) return on_send(c, p, info);
    if (info.verb == wire::Verb::write) return on_write(c, p, info);
    return on_other(c, p, info);
  }
  [[gnu::noinline]] Admission on_other(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    switch (info.verb) {
      case wire::Verb::read_request: return on_read(c, p);
      case wire::Verb::reply: return on_reply(c, p, info);
      case wire::Verb::rpc:
      case wire::Verb::rpc_write: return on_call(c, p, info);
      default: return on_atomic(c, p, info);
    }
  }

  static Refusal judge_shape(const Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    const bool whole = info.step == wire::Step::only && c.inbound == Inbound::none;
    return whole && p.payload.size() <= path_mtu(c) ? Refusal::none : judge_part(c, p, info);
  }
  // Slow path: checks any packet, usually one of a message of several.
  [[gnu::noinline]] static Refusal judge_part(const Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    const Inbound belongs = info.verb == wire::Verb::send        ? Inbound::send
                            : info.verb == wire::Verb::write     ? Inbound::write
                            : info.verb == wire::Verb::rpc_write ? Inbound::call
                                                                 : Inbound::none;
    if (info.starts() && c.inbound != Inbound::none) return Refusal::not_continued;
    if (!info.starts() && c.inbound != belongs) {
      return c.inbound == Inbound::none ? Refusal::not_first : Refusal::not_continued;
    }
    if (belongs == Inbound::none) return Refusal::none;
    const std::size_t bytes = p.payload.size();
    if (!info.ends()) return bytes == path_mtu(c) ? Refusal::none : Refusal::bad_length;
    if (bytes > path_mtu(c)) return Refusal::bad_length;
    return info.step == wire::Step::last && bytes == 0 ? Refusal::bad_length : Refusal::none;
  }

  Admission on_send(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (info.starts()) {
      if (!completions_.take_receive(c)) return invalid(Refusal::no_receive);
      c.roce.received_bytes = 0;
    }
    const Receive& r = read_receive_under_way(core_, c, c.receive_entry);
    if (p.payload.size() > r.length - c.roce.received_bytes) {
      return {Refusal::receive_too_small, wire::NakCode::invalid_request, Status::local_length};
    }
    if (const Refusal why = scatter(core_, c, sges_of(r), c.roce.received_bytes, p.payload); why != Refusal::none) {
      return {why, wire::NakCode::remote_operation, Status::local_protection};
    }
    c.roce.received_bytes += static_cast<std::uint32_t>(p.payload.size());
    if (info.ieth) {
      const Refusal why = core_.state.memory.invalidate(p.headers.invalidate.key, core_.asker(c));
      if (why != Refusal::none) return denied(why);
    }
    advance(c, Inbound::send, info);
    if (info.ends()) completions_.finish_receive(c, {.bytes = c.roce.received_bytes, .headers = &p.headers});
    return {};
  }

  [[gnu::noinline]] Admission on_write(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    std::byte* at = nullptr;
    if (info.starts()) {
      const wire::Reth& reth = p.headers.reth;
      if (const Admission v = admit_write(core_, c, reth, at); v.refusal() != Refusal::none) return v;
      c.roce.write_address = reth.address;
      c.roce.write_key = reth.key;
      c.roce.write_left = reth.length;
      c.roce.received_bytes = 0;
    }
    const auto bytes = static_cast<std::uint32_t>(p.payload.size());
    if (bytes > c.roce.write_left || (info.ends() && bytes != c.roce.write_left))
      return invalid(Refusal::message_length_mismatch);
    if (info.immediate && !completions_.take_receive(c)) return invalid(Refusal::no_receive);
    if (bytes > 0) {
      if (!info.starts()) {  // asked again for every packet: the region may be gone by now
        const Refusal why = core_.translate(c, c.roce.write_key, Rights::remote_write, c.roce.write_address, bytes, at);
        if (why != Refusal::none) return denied(why);
      }
      (void)core_.dma_write(at, p.payload);  // never exported: roce has no bursts
    }
    c.roce.write_address += bytes;
    c.roce.write_left -= bytes;
    c.roce.received_bytes += bytes;
    advance(c, Inbound::write, info);
    if (info.immediate) {
      completions_.finish_receive(
          c, {.kind = CompletionKind::receive_write_immediate, .bytes = c.roce.received_bytes, .headers = &p.headers});
    }
    return {};
  }

  [[gnu::noinline]] Admission on_call(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (info.starts()) {
      if (p.headers.reth.length > kMaxMessage) return invalid(Refusal::too_long);
      c.roce.write_address = p.headers.reth.address;
      c.roce.write_key = p.headers.reth.key;
      c.roce.write_left = p.headers.reth.length;
      c.roce.received_bytes = 0;
    }
    const auto bytes = static_cast<std::uint32_t>(p.payload.size());
    if (bytes > c.roce.write_left || (info.ends() && bytes != c.roce.write_left))
      return invalid(Refusal::message_length_mismatch);
    const wire::Reth to{c.roce.write_address, c.roce.write_key, 0};
    const Admission v = info.verb == wire::Verb::rpc
                            ? calls_.call(c, to, p.payload.near())
                            : calls_.payload(c, to, p.payload.near(), c.roce.received_bytes, info.ends());
    if (v.refusal() != Refusal::none) return v;
    c.roce.write_left -= bytes;
    c.roce.received_bytes += bytes;
    advance(c, Inbound::call, info);
    return {};
  }

  [[gnu::noinline]] Admission on_reply(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    if (p.payload.size() != p.headers.reth.length) return invalid(Refusal::message_length_mismatch);
    ReplyPlace place;
    if (const Admission v = admit_reply(core_, c, p, place); v.refusal() != Refusal::none) return v;
    if (info.immediate && !completions_.take_receive(c)) return invalid(Refusal::no_receive);
    place_reply(core_, p, place);
    advance(c, Inbound::none, info);
    if (info.immediate) finish_reply(completions_, c, p.headers, place.bytes);
    return {};
  }

  [[gnu::noinline]] Admission on_read(Context& c, const wire::Packet& p) {
    const wire::Reth& reth = p.headers.reth;
    if (const Admission v = admit_read(core_, c, reth); v.refusal() != Refusal::none) return v;
    SavedResponse* s = responder_output_.save(c);
    if (s == nullptr) return invalid(Refusal::too_many_reads);
    grant_read(*s, reth);
    s->first = c.expected_psn;
    s->packets = packets_of(reth.length, c.mtu_shift);
    responder_output_.respond(c, *s, s->first);
    c.expected_psn = c.expected_psn.plus(s->packets);
    c.roce.msn = wire::Msn(c.roce.msn.raw() + 1);
    return {};
  }

  [[gnu::noinline]] Admission on_atomic(Context& c, const wire::Packet& p, const wire::OpcodeInfo& info) {
    const wire::AtomicEth& eth = p.headers.atomic;
    std::uint64_t* word = nullptr;
    if (const Admission v = admit_atomic(core_, c, eth, word); v.refusal() != Refusal::none) return v;
    SavedResponse* s = responder_output_.save(c);
    if (s == nullptr) return invalid(Refusal::too_many_reads);
    grant_atomic(core_, *s, *word, eth, info.verb == wire::Verb::fetch_add);
    s->first = c.expected_psn;
    s->packets = 1;
    responder_output_.respond(c, *s, s->first);
    c.expected_psn = c.expected_psn.plus(1);
    c.roce.msn = wire::Msn(c.roce.msn.raw() + 1);
    return {};
  }

  static void advance(Context& c, Inbound kind, const wire::OpcodeInfo& info) {
    if (c.service == wire::Service::rc) c.expected_psn = c.expected_psn.plus(1);
    c.inbound = info.ends() ? Inbound::none : kind;
    if (info.ends()) c.roce.msn = wire::Msn(c.roce.msn.raw() + 1);
  }

  Core<W>& core_;
  Completions<W>& completions_;
  ResponderOutput<W>& responder_output_;
  Calls<W>& calls_;
};

}  // namespace weft::nic
