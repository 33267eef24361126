// The card's part of selective repeat: what it does about ACKs, silence and a receiver that is not ready. It keeps
// a flag and no list: which packets are missing is the business of the host's software (host/retransmission.h), which
// answers through the retry queue. Silence alone is no loss: after one, the card asks the peer what has arrived, with a
// packet that holds nothing (a probe), and only the answer says what is to be sent again.
#pragma once

#include <algorithm>

#include "base/canary.h"
#include "nic/rc/peer_traffic.h"
#include "nic/srnic/requests_out.h"
#include "nic/srnic/responses_out.h"

namespace weft::nic {

template <World W>
class SelectiveRepeat {
 public:
  SelectiveRepeat(Core<W>& core, Completions<W>& completions, RequestsOut<W>& requests, ResponsesOut<W>& responses)
      : core_(core), completions_(completions), requests_(requests), responses_(responses) {}

  // -- ACKs --

  void on_ack(Context& c, const wire::Packet& p, Stream stream) {
    core_.count(Counter::acks_rcvd);
    const wire::SrnicAck& r = p.headers.srnic_ack;
    const Outflow flow = outflow(c, stream);
    const std::int32_t ahead = r.expected.ahead_of(flow.unacked);
    if (r.expected.ahead_of(flow.next) > 0) return core_.refuse(Refusal::ack_ghost);
    const auto progress = static_cast<std::uint32_t>(std::max(ahead, 0));
    control_congestion(c, progress, r.marked);
    on_answer(core_, c, r.expected, stream == Stream::responses_out);
    if (r.duplicates != 0) [[unlikely]]
      on_duplicates(c, r.duplicates);
    if (progress > 0) {
      if (lost(c, stream)) [[unlikely]]
        earn_retries(c, progress);
      stream == Stream::requests_out ? requests_.acknowledged(c, r.expected) : responses_.acknowledged(c, r.expected);
      if (c.state == QpState::error) return;
      progressed(c, stream);
    }
    if (!wire::Syndrome::is_ack(r.syndrome)) [[unlikely]]
      return on_bad_news(c, p, stream, ahead);
    if (progress == 0 && ahead < 0) [[unlikely]]
      core_.refuse(Refusal::ack_duplicate);
    if (lost(c, stream)) [[unlikely]]
      tell(c, stream, {.kind = LossEvent::Kind::acked});
  }

  // -- time --

  // Something is under way: silence must not last.
  void watch(Context& c) {
    if (c.deadline == kNever && under_way(c)) arm(c);
  }
  // Packets of these kinds have just left: the wait for an answer begins anew, which is seen to when the timer expires.
  // Not if nothing new would tell of what is waited for already.
  void sent(Context& c, bool requests, bool responses) {
    if (c.deadline == kNever) return arm(c);
    const bool waits_for_other =
        (!requests && is_silent(c, Stream::requests_out)) || (!responses && is_silent(c, Stream::responses_out));
    if (!waits_for_other) c.sent_since = true;
    if (c.assured) hasten(c);
  }
  // Something new has been heard of what we ask, or of what we answer. Both share a timer, which must not be put off by
  // the one while the other is waited for: a peer that goes on reading would keep a lost request from being sent again.
  void progressed(Context& c, Stream stream) {
    c.retries_left = c.retry_count;
    c.rnr_retries_left = c.rnr_retry;
    c.silences = 0;
    c.unheard = false;
    const bool requests = stream == Stream::requests_out;
    if (requests) c.assured = requests_under_way(c) == 0 && c.reads_under_way > 0;
    if (requests) c.requests_awaited = false;
    if (!requests) c.responses_awaited = false;
    if (c.rnr_wait || is_silent(c, requests ? Stream::responses_out : Stream::requests_out)) return;
    if (under_way(c)) {
      arm(c);
    } else {
      core_.state.timers.disarm(core_.slot(c));
    }
  }
  // Responses have come, and with them the news that everything before `unacked_psn`, which was `before`, had arrived.
  // No ACK may ever say so, and the software must hear of it: it may be waiting for just that.
  void answered(Context& c, wire::Psn before) {
    progressed(c, Stream::requests_out);
    if (c.requests_lost && c.unacked_psn != before) tell(c, Stream::requests_out, {.kind = LossEvent::Kind::acked});
  }
  void on_deadline(Context& c) {
    if (c.rnr_wait) return on_receiver_waited_for(c);
    if (!under_way(c)) return;
    const bool asks = is_silent(c, Stream::requests_out), answers = is_silent(c, Stream::responses_out);
    if ((!asks && !answers) || c.sent_since) return arm(c);  // of each something has been heard or sent meanwhile
    if (has_retries(c)) {                                    // what is lost is known, and has not been sent again yet
      if (!may_wait_longer(c)) return;  // a peer that is gone is given up, however much is left to send again
      if (c.silences < 0xFF) ++c.silences;
      if (c.silences > 1) ask_again(c, asks, answers);
      earn_retries(c, limits_retries(core_, c) ? kMostRetryCredit : kRetriesOfATimeout);
      core_.schedule(c);
      return arm(c);
    }
    if (is_about_to_send(c) && !peer_is_silent(core_, c)) return arm(c);  // that will be answered, too
    if (!may_wait_longer(c)) return;
    if (c.silences < 0xFF) ++c.silences;
    if (c.silences > 1) c.unheard = true;  // a question has not been answered
    c.assured = false;
    if (asks) probe(c, Stream::requests_out);
    if (answers) probe(c, Stream::responses_out);
    watch(c);
  }

  // The peer is there after all: suspended responses are sent once more.
  [[gnu::cold, gnu::noinline]] void resume_responses(Context& c) {
    c.responses_suspended = false;
    if (c.responses_under_way > 0) probe(c, Stream::responses_out);
    watch(c);
  }

  // -- the retry queue --

  [[nodiscard]] bool has_retries(const Context& c) const {
    if (c.retry_ring == RetryRing::kNoRing) [[likely]]
      return false;
    const RetryRing& ring = core_.state.retries[c.retry_ring];
    return ring.owner == c.qpn && !ring.empty();
  }
  // However much there is to send again, no more of it leaves in a recovery than what has been acknowledged since it
  // began, and 255 packets to begin with. So however wrong the software is about what is lost, it does not send more of
  // it than gets through. Where connections share a window it is part of that, and credit says what has left the way.
  [[nodiscard]] bool may_retry(const Context& c) const { return has_retries(c) && c.retry_credit > 0; }
  void turn(Context& c, TurnBudget& budget) {
    const bool limited = limits_retries(core_, c);
    const auto may_go = [&] { return may_retry(c) && (!limited || budget.room > 0); };
    while (may_go() && !budget.spent() && c.state != QpState::error) {
      RetryRing& ring = core_.state.retries[c.retry_ring];
      RetryEntry& e = read_retry(core_, ring);
      // What the receiver is not ready for is sent again when it may be: all of it, whatever was planned before.
      if (c.rnr_wait && e.stream == Stream::requests_out) e.count = 0;
      while (e.count > 0 && budget.bytes > 0 && may_go()) {
        spend_retry(c, e);
        if (limited) --budget.room;
        if (!send_one_again(c, e, budget)) {
          e.count = 0;
          break;
        }
        // A lost question took no room worth mentioning, on a way that may be narrow for its answers only.
        if (limited && !e.refused && core_.out.payload_bytes > 0) note_lost(core_, c);
      }
      if (c.state == QpState::error) return;
      e.count == 0 ? void(++ring.done) : write_retry(core_, e);
      if (budget.works > 0) --budget.works;
    }
  }

  // -- the software's answers --

  void on_retry(Context& c, std::uint16_t ring) {
    c.retry_ring = ring;
    core_.schedule(c);
  }
  // Unless the software has been told of more since it said so: then it has begun anew, and must hear the end of it.
  void on_leave(Context& c, Stream stream, std::uint16_t told) {
    if (told != c.losses_told) return tell(c, stream, {.kind = LossEvent::Kind::acked});
    if (lost(c, stream)) core_.count(Counter::recoveries_left);
    lost(c, stream, false);
    if (c.peer_slot != kNoPeer) core_.state.peers[c.peer_slot].reordering.on_recovered();
    if (c.requests_lost || c.responses_lost) return;
    c.retry_ring = RetryRing::kNoRing;
    c.retry_credit = kMostRetryCredit;
  }

 private:
  static constexpr std::uint8_t kForever = 7;  // of the RNR retry count only
  static constexpr std::uint32_t kRetriesOfATimeout = 4;
  static constexpr std::uint8_t kAnswersThatCount = 32;

  [[nodiscard]] static bool under_way(const Context& c) { return packets_under_way(c) > 0 || c.reads_under_way > 0; }
  [[nodiscard]] static bool asks(const Context& c) { return requests_under_way(c) > 0 || c.reads_under_way > 0; }

  // Its turn comes in any case. One that waits for the peer's window may wait for just what it has under way itself.
  [[nodiscard]] bool is_about_to_send(Context& c) const {
    if (!c.scheduled) return false;
    return requests_.may_send(c) || (responses_.has_more(c) && packets_before_response(c) < window_of(core_, c));
  }

  // What is under way when the timer is set is waited for. What is sent later has its turn with the next one.
  void arm(Context& c) {
    c.requests_awaited = asks(c);
    c.responses_awaited = answers_under_way(c) > 0;
    c.sent_since = false;
    core_.state.timers.arm(core_.slot(c), core_.now() + patience(c));
  }
  // Under way since the timer was set, and nothing has been heard of it.
  [[nodiscard]] static bool is_silent(const Context& c, Stream s) {
    return s == Stream::requests_out ? c.requests_awaited && asks(c) : c.responses_awaited && answers_under_way(c) > 0;
  }
  // "What have you got of what I have sent so far?" Of that, nothing that is in the retry queue is still under way.
  [[gnu::cold, gnu::noinline]] void probe(Context& c, Stream stream) {
    if (lost(c, stream)) tell(c, stream, {.kind = LossEvent::Kind::silence});
    send_probe(c, stream);
  }
  // What is lost is known, but is the peer still there? It says nothing of packets that it cannot take yet.
  [[gnu::cold, gnu::noinline]] void ask_again(Context& c, bool asks, bool answers) {
    if (asks) send_probe(c, Stream::requests_out);
    if (answers) send_probe(c, Stream::responses_out);
  }
  void send_probe(Context& c, Stream stream) {
    const bool requests = stream == Stream::requests_out;
    wire::Headers& h = core_.start_packet(c, requests ? wire::Opcode::srnic_probe : wire::Opcode::srnic_response_probe,
                                          outflow(c, stream).next);
    h.sequence = wire::Sequence{};
    core_.send_packet();
    core_.count(Counter::probes_sent);
  }
  [[gnu::cold, gnu::noinline]] void on_probed(Context& c, const wire::Packet& p, Stream stream) {
    const wire::SrnicAck& r = p.headers.srnic_ack;
    const Outflow flow = outflow(c, stream);
    const wire::Psn psn = p.headers.bth.psn;
    if (psn.ahead_of(flow.next) > 0) return core_.refuse(Refusal::ack_ghost);
    if (lost(c, stream)) tell(c, stream, {.kind = LossEvent::Kind::acked});
    if (psn.ahead_of(flow.unacked) <= 0) return on_assured(c, r, psn, stream);
    const wire::Psn run_end(p.headers.sequence.offset());
    if (r.run > kMaxWindow || (r.run > 0 && run_end.minus(r.run).ahead_of(r.expected) < 0) ||
        (r.run > 0 && run_end.ahead_of(flow.next) > 0)) {
      return core_.refuse(Refusal::ack_ghost);
    }
    // A question and its answer were not lost, but what was asked about may always be: too long for the way, perhaps.
    if (c.silences < kAnswersThatCount && c.retries_left < c.retry_count) ++c.retries_left;
    const bool known = has_retries(c);
    if (!known) lost(c, stream, true);
    if (limits_retries(core_, c)) {  // whatever was sent before the question is under way no more
      earn_retries(c, kMostRetryCredit);
      pass(c, psn, stream == Stream::responses_out);
    }
    if (known) {  // what is lost is known already: the answer says that the peer is there
      c.silences = 0;
      return;
    }
    core_.count(Counter::rcvd_seq_err);
    tell(c, stream,
         {.kind = LossEvent::Kind::probed, .silences = c.silences, .run = r.run, .psn = psn, .run_end = run_end});
  }
  // All that was sent before the probe has arrived. The peer is there, and what it owes will come; unless it knows of
  // no READ that it has to answer, though we wait for one: then patience must have an end.
  void on_assured(Context& c, const wire::SrnicAck& r, wire::Psn psn, Stream stream) {
    const bool forgotten = stream == Stream::requests_out && c.reads_under_way > 0 && r.run == 0 && psn == c.next_psn;
    if (forgotten) return;
    c.assured = true;
    c.unheard = false;
    c.retries_left = c.retry_count;
    if (under_way(c) && !c.rnr_wait) arm(c);
  }

  // Packets that had arrived before have arrived again: what was taken for a loss was none.
  [[gnu::cold, gnu::noinline]] void on_duplicates(Context& c, std::uint32_t packets) {
    if (c.peer_slot == kNoPeer) return;
    Peer& peer = core_.state.peers[c.peer_slot];
    const std::uint32_t needless = std::min(packets, peer.resent);
    if (needless == 0) return;  // the network's doing
    peer.resent -= needless;
    core_.count(Counter::needless_resends, needless);
    peer.reordering.on_needless();
    if (c.window_cut) with_congestion(core_.state.config.congestion, [&](auto cc) { cc.undo_silence(c); });
    c.window_cut = false;
  }
  void spend_retry(Context& c, const RetryEntry& e) {
    --c.retry_credit;
    if (c.peer_slot == kNoPeer) return;
    ++core_.state.peers[c.peer_slot].resent;
    note_resent(core_, c, e);
  }
  // The receiver had not been ready, and may be by now. While it is not, answers are not forgotten.
  [[gnu::cold, gnu::noinline]] void on_receiver_waited_for(Context& c) {
    c.rnr_wait = false;
    if (is_silent(c, Stream::responses_out)) probe(c, Stream::responses_out);
    earn_retries(c, requests_under_way(c));  // the receiver has asked for all of it
    lost(c, Stream::requests_out, true);
    tell(c, Stream::requests_out, {.kind = LossEvent::Kind::refused});
    core_.schedule(c);
    watch(c);
  }
  [[nodiscard]] static bool lost(const Context& c, Stream s) {
    return s == Stream::requests_out ? c.requests_lost : c.responses_lost;
  }
  void lost(Context& c, Stream s, bool value) {
    if (value && !lost(c, s)) {
      core_.count(Counter::recoveries_entered);
      begin_passing(c, outflow(c, s).unacked, s == Stream::responses_out);
    }
    if (s == Stream::requests_out) {
      c.requests_lost = value;
    } else {
      c.responses_lost = value;
    }
  }

  void control_congestion(Context& c, std::uint32_t acked, std::uint32_t marked) {
    with_congestion(core_.state.config.congestion, [&](auto cc) {
      cc.on_ack(c, srnic_window(core_.state.config), acked, marked, packets_under_way(c));
    });
  }

  void tell(Context& c, Stream stream, LossEvent e) {
    const Outflow flow = outflow(c, stream);
    e.stream = stream;
    if (e.kind != LossEvent::Kind::acked) ++c.losses_told;
    e.told = c.losses_told;
    if (c.retry_ring != RetryRing::kNoRing) {
      const RetryRing& ring = core_.state.retries[c.retry_ring];
      if (ring.owner == c.qpn) e.retried = static_cast<std::uint16_t>(ring.done);
    }
    // Nothing is remembered of suspended responses: when they are sent once more, they begin anew.
    e.base = stream == Stream::responses_out && c.responses_suspended ? flow.next : flow.unacked;
    e.next = flow.next;
    if (stream == Stream::requests_out && e.kind != LossEvent::Kind::sacked) {
      const WorkPosition at = locate_request(core_, c, e.kind == LossEvent::Kind::missing ? e.psn : flow.unacked);
      e.anchor = wire::Sequence(at.entry, 0, at.offset);
    }
    core_.tell(e, c);
  }

  // Anything but an acknowledgement. Where packets are lost this is no rarity, and so not cold.
  [[gnu::noinline]] void on_bad_news(Context& c, const wire::Packet& p, Stream stream, std::int32_t ahead) {
    const std::uint8_t syndrome = p.headers.srnic_ack.syndrome;
    if (syndrome == wire::SrnicAck::kMissing) return on_missing(c, p, stream);
    if (syndrome == wire::SrnicAck::kProbed) return on_probed(c, p, stream);
    const wire::Syndrome s = wire::Syndrome::decode(syndrome);
    if (s.kind == wire::Syndrome::Kind::nak) return on_nak(c, p, stream, s.nak_code());
    if (s.kind != wire::Syndrome::Kind::rnr || stream != Stream::requests_out) {
      return core_.refuse(Refusal::bad_syndrome);
    }
    if (requests_under_way(c) == 0) return core_.refuse(Refusal::ack_ghost);  // there is nothing to have room for
    if (ahead >= 0) on_receiver_not_ready(c, s.value);
  }

  void on_nak(Context& c, const wire::Packet& p, Stream stream, wire::NakCode code) {
    if (code == wire::NakCode::invalid_rd) return core_.refuse(Refusal::bad_syndrome);
    if (code == wire::NakCode::psn_sequence) return on_sack(c, p, stream);
    if (stream != Stream::requests_out) return core_.refuse(Refusal::bad_syndrome);
    // The refused work is the one that the echo names; all before it is done, or this is not the peer's last word.
    const std::uint32_t entry = wire::Sequence::unfold(p.headers.sequence.msn(), c.sq_done);
    const bool begun = entry != c.sq_next || c.next_offset != 0;
    if (entry - c.sq_done > c.sq_next - c.sq_done || !begun) return core_.refuse(Refusal::ack_ghost);
    if (entry != c.sq_done) return core_.refuse(Refusal::ack_duplicate);
    switch (code) {
      case wire::NakCode::invalid_request:
        return completions_.fail_work(c, Status::remote_invalid_request, Refusal::peer_invalid_request);
      case wire::NakCode::remote_access:
        return completions_.fail_work(c, Status::remote_access, Refusal::peer_access_error);
      case wire::NakCode::no_kernel:
        if (!is_call(read_work_under_way(core_, c, c.sq_done).kind)) return core_.refuse(Refusal::bad_syndrome);
        return completions_.fail_work(c, Status::remote_operation, Refusal::peer_no_kernel);
      default: return completions_.fail_work(c, Status::remote_operation, Refusal::peer_operation_error);
    }
  }

  void on_sack(Context& c, const wire::Packet& p, Stream stream) {
    const wire::SrnicAck& r = p.headers.srnic_ack;
    const Outflow flow = outflow(c, stream);
    const wire::Psn psn = p.headers.bth.psn;
    if (psn.ahead_of(flow.next) >= 0 || r.run > kMaxWindow || r.run == 0) return core_.refuse(Refusal::ack_ghost);
    if (psn.ahead_of(flow.unacked) < 0) return;  // of packets acknowledged since
    if (psn.minus(r.run - 1U).ahead_of(r.expected) < 0) return core_.refuse(Refusal::ack_ghost);
    core_.count(Counter::rcvd_seq_err);
    core_.count(Counter::packet_seq_err);
    lost(c, stream, true);
    note_passed(core_, c, psn, r.run, stream == Stream::responses_out);
    hasten(c);
    tell(c, stream, {.kind = LossEvent::Kind::sacked, .run = r.run, .psn = psn, .anchor = p.headers.sequence});
  }
  // A gap is known of: whether it is a loss is asked sooner than after a silence.
  void hasten(Context& c) {
    c.assured = false;
    const Time soon = core_.now() + patience(c);
    if (!c.rnr_wait && soon < c.deadline) core_.state.timers.arm(core_.slot(c), soon);
  }

  void on_missing(Context& c, const wire::Packet& p, Stream stream) {
    const Outflow flow = outflow(c, stream);
    const wire::Psn psn = p.headers.bth.psn;
    const std::uint16_t count = p.headers.srnic_ack.run;
    if (count == 0 || count > kMaxWindow || psn.plus(count).ahead_of(flow.next) > 0) {
      return core_.refuse(Refusal::ack_ghost);
    }
    if (psn.ahead_of(flow.unacked) < 0) return core_.refuse(Refusal::ack_duplicate);
    core_.count(Counter::rcvd_seq_err);
    lost(c, stream, true);
    tell(c, stream, {.kind = LossEvent::Kind::missing, .run = count, .psn = psn});
  }

  [[gnu::cold, gnu::noinline]] void on_receiver_not_ready(Context& c, std::uint8_t timer_code) {
    if (c.rnr_wait) return;
    core_.count(Counter::rcvd_rnr_err);
    // A READ before it that has not been answered is not to blame: what the receiver had no room for must be the oldest
    // work to be given up.
    const bool oldest = locate_request(core_, c, c.unacked_psn).entry == c.sq_done;
    if (c.rnr_retry != kForever && oldest) {
      if (c.rnr_retries_left == 0) {
        core_.count(Counter::retry_rnr_exceeded_err);
        return completions_.fail_work(c, Status::rnr_retry_exceeded, Refusal::rnr_retry_exceeded);
      }
      --c.rnr_retries_left;
    }
    c.rnr_wait = true;
    c.responses_awaited = answers_under_way(c) > 0;
    core_.state.timers.arm(core_.slot(c), core_.now() + core_.state.config.rnr_delay(timer_code));
  }

  // After so long an answer is missed: the peer's usual time to answer, and what it varies by. While a gap is known of,
  // what was sent behind it need only have had the time to be overtaken.
  [[nodiscard]] Time usual_patience(const Context& c) const {
    const Time shortest = core_.state.config.probe_delay;
    if (c.peer_slot == kNoPeer) return shortest;
    const AnswerTime& usual = core_.state.peers[c.peer_slot].answer_time;
    const bool gap = (c.requests_lost || c.responses_lost) && usual.known();
    return gap ? std::max(usual.reordering(), shortest / 8) : std::max(usual.longest(), shortest);
  }
  // The local ACK timeout is what the program is ready to wait before a retry counts; under load answers may take
  // longer than that, and do not count. The card asks much sooner, ever more seldom.
  [[nodiscard]] Time full_patience(const Context& c) const {
    const Time own =
        c.ack_timeout == 0 ? kLongest * core_.state.config.nanosecond : core_.state.config.ack_timeout(c.ack_timeout);
    return c.peer_slot == kNoPeer ? own : std::max(own, core_.state.peers[c.peer_slot].answer_time.longest());
  }
  [[nodiscard]] Time patience(const Context& c) const {
    if (c.assured) return full_patience(c);  // it has all, and what it owes it looks after itself
    return std::min(usual_patience(c) << std::min<std::uint8_t>(c.silences, 20), full_patience(c));
  }
  // False: this was the last time.
  bool may_wait_longer(Context& c) {
    if (patience(c) < full_patience(c) || c.assured) return true;
    core_.count(Counter::local_ack_timeout_err);
    c.window_cut = true;
    with_congestion(core_.state.config.congestion, [&](auto cc) { cc.on_silence(c); });
    note_silence(core_, c);
    if (c.ack_timeout == 0) return true;
    if (c.retries_left > 0) {
      --c.retries_left;
      return true;
    }
    if (!asks(c)) {
      responses_.suspend(c);
      if (c.responses_lost) tell(c, Stream::responses_out, {.kind = LossEvent::Kind::acked});
      return false;
    }
    if (canary(Canary::retries_without_end)) return true;
    core_.count(Counter::retry_exceeded_err);
    completions_.fail_work(c, Status::retry_exceeded, Refusal::retry_exceeded);
    return false;
  }

  bool send_one_again(Context& c, RetryEntry& e, TurnBudget& budget) {
    if (e.stream == Stream::responses_out) {
      const bool sent = responses_.send_again(c, e.psn, e.count == 1, budget);
      e.psn = e.psn.plus(1);
      --e.count;
      return sent;
    }
    if (const std::int32_t behind = -e.psn.ahead_of(c.unacked_psn); behind > 0) {  // it has arrived meanwhile
      if (behind >= e.count) return false;
      e.count = static_cast<std::uint16_t>(e.count - behind);
      e.psn = c.unacked_psn;
      const WorkPosition at = locate_request(core_, c, e.psn);
      e.at = wire::Sequence(at.entry, 0, at.offset);
    }
    if (e.psn.ahead_of(c.next_psn) >= 0) return false;
    WorkPosition at{wire::Sequence::unfold(e.at.msn(), c.sq_done), e.at.offset()};
    if (at.entry - c.sq_done > c.sq_next - c.sq_done) return false;
    while (at.entry != c.sq_next) {
      const std::uint32_t packets = request_packets(read_work_under_way(core_, c, at.entry), c.mtu_shift);
      if (at.offset < packets) break;
      at.offset -= packets;
      ++at.entry;
    }
    if (at.entry == c.sq_next && (at.entry == c.sq_posted || (at.offset << c.mtu_shift) >= c.next_offset)) return false;
    const bool sent = requests_.send_again(c, at, e.psn, e.count == 1, budget);
    e.psn = e.psn.plus(1);
    e.at = wire::Sequence(at.entry, 0, at.offset + 1);
    --e.count;
    return sent;
  }

  static constexpr Time kLongest = 1'000'000'000;  // nanoseconds

  Core<W>& core_;
  Completions<W>& completions_;
  RequestsOut<W>& requests_;
  ResponsesOut<W>& responses_;
};

}  // namespace weft::nic
