// Go-back-N: what a requester does about silence, gaps and a receiver that is not ready. It needs no table of
// outstanding requests: the oldest unfinished work entry and its first PSN locate every packet since.
#pragma once

#include "base/canary.h"
#include "nic/completions.h"
#include "nic/core.h"
#include "nic/rc/peer_traffic.h"
#include "wire/syndrome.h"

namespace weft::nic {

template <World W>
class GoBackN {
 public:
  GoBackN(Core<W>& core, Completions<W>& completions) : core_(core), completions_(completions) {}

  [[nodiscard]] static bool under_way(const Context& c) { return c.sent_psn != c.unacked_psn; }

  // Something has been sent: silence must not last longer than the local ACK timeout.
  void watch(Context& c) {
    if (c.deadline == kNever && c.ack_timeout != 0 && under_way(c)) {
      core_.state.timers.arm(core_.slot(c), core_.now() + core_.state.config.ack_timeout(c.ack_timeout));
    }
  }

  // The peer has acknowledged something new.
  void progressed(Context& c) {
    on_answer(core_, c, c.unacked_psn);
    c.unheard = false;
    c.retries_left = c.retry_count;
    c.rnr_retries_left = c.rnr_retry;
    c.reread = c.head_waits = false;
    if (c.rnr_wait) return;
    if (under_way(c) && c.ack_timeout != 0) {
      core_.state.timers.arm(core_.slot(c), core_.now() + core_.state.config.ack_timeout(c.ack_timeout));
    } else {
      core_.state.timers.disarm(core_.slot(c));
    }
  }

  // A gap: the peer said so (NAK), or a READ response or its acknowledgement never came (implied NAK).
  // Nothing re-sent since the last time means that this is the same gap, told again.
  [[gnu::cold, gnu::noinline]] void on_gap(Context& c) {
    if (c.next_psn == c.unacked_psn || c.rnr_wait) return;
    note_gap(core_, c);
    retry(c);
  }

  [[gnu::cold, gnu::noinline]] void on_receiver_not_ready(Context& c, std::uint8_t timer_code) {
    if (c.rnr_wait) return;
    core_.count(Counter::rcvd_rnr_err);
    if (c.rnr_retry != kForever) {
      if (c.rnr_retries_left == 0) {
        core_.count(Counter::retry_rnr_exceeded_err);
        completions_.fail_work(c, Status::rnr_retry_exceeded, Refusal::rnr_retry_exceeded);
        return;
      }
      --c.rnr_retries_left;
    }
    rewind(c);
    c.rnr_wait = true;
    core_.state.timers.arm(core_.slot(c), core_.now() + core_.state.config.rnr_delay(timer_code));
  }

  void on_deadline(Context& c) {
    if (c.rnr_wait) {
      c.rnr_wait = false;
      core_.schedule(c);
      return;
    }
    if (!under_way(c)) return;
    core_.count(Counter::local_ack_timeout_err);
    note_silence(core_, c);
    c.unheard = true;
    retry(c);
  }

  // Everything from the oldest unacknowledged PSN will be sent again. Of a READ, only what has not arrived.
  void rewind(Context& c) {
    stop_timing(core_, c);
    c.sq_next = c.sq_done;
    c.next_psn = c.unacked_psn;
    c.next_offset = c.unacked_psn.since(c.done_psn) << c.mtu_shift;
    c.reads_under_way = 0;
    c.head_waits = false;
    c.sq_stalled = false;  // if the entry still cannot be sent, that will be seen again
    c.since_ack_request = 0;
  }

 private:
  static constexpr std::uint8_t kForever = 7;  // of the RNR retry count only

  void retry(Context& c) {
    if (c.retries_left == 0 && !canary(Canary::retries_without_end)) {
      core_.count(Counter::retry_exceeded_err);
      completions_.fail_work(c, Status::retry_exceeded, Refusal::retry_exceeded);
      return;
    }
    --c.retries_left;
    rewind(c);
    core_.state.timers.disarm(core_.slot(c));
    core_.schedule(c);
  }

  Core<W>& core_;
  Completions<W>& completions_;
};

}  // namespace weft::nic
