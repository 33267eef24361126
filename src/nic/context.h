// All that the card keeps for a connection: one fixed slot in a flat table, and nothing else on the card
// grows with connections but two words of scheduling and timing (scheduler.h, timers.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "nic/formats.h"
#include "nic/rights.h"
#include "wire/dialect.h"
#include "wire/opcode.h"
#include "wire/packet.h"
#include "wire/types.h"

namespace weft::nic {

using wire::Dialect;

struct StarLink;
class KernelServer;

enum class QpState : std::uint8_t { reset, init, rtr, rts, sqd, sqe, error };

// Which message the responder is in the middle of.
enum class Inbound : std::uint8_t { none, send, write, call };

inline constexpr std::uint32_t kNone = ~0U;
inline constexpr std::uint16_t kNoPeer = 0;
inline constexpr std::uint8_t kMostRetryCredit = 255;
inline constexpr std::uint32_t kMaxMessage = 1U << 31;  // bytes; IBA 9.4.1

// What go-back-N keeps at the responder: the message under way and the answer owed.
struct RoceInbound {
  std::uint64_t write_address = 0;  // next byte of the WRITE under way
  wire::Key write_key{};
  std::uint32_t write_left = 0;
  std::uint32_t received_bytes = 0;
  wire::Msn msn{};
  wire::Psn owed_psn{};    // acknowledgement owed to the peer
  wire::Psn last_ahead{};  // the last packet that came ahead of its turn
};

// What selective repeat keeps of a stream that comes in: the most advanced packets without a gap between them, which
// are all that the card knows of what is ahead, and the newest packet's place, to be echoed.
struct SrnicInbound {
  wire::Sequence newest{};
  wire::Psn run_end{};           // one past the run
  std::uint16_t run = 0;         // how many packets it is; 0: not in recovery
  std::uint16_t notes = 0xFFFF;  // first of the notes on packets ahead of their turn (nic/reorder_notes.h); or none
};

// A round of DCTCP (nic/congestion).
struct CongestionRound {
  std::uint16_t acked = 0, marked = 0;  // packets so far
  std::uint16_t length = 0;             // it ends when so many are acknowledged: all that were under way
};

// Requests that come in, and what may go out.
struct SrnicRequests {
  SrnicInbound in{};
  CongestionRound round{};
};

// The two streams of responses, in and out. In srnic they have sequence numbers of their own.
struct SrnicResponses {
  SrnicInbound in{};
  wire::Psn in_expected{};
  wire::Psn out_next{};
};

// The number of a queue that may be none, in two bytes.
class QueueNumber {
 public:
  constexpr QueueNumber() = default;
  constexpr QueueNumber& operator=(std::uint32_t n) {
    value_ = static_cast<std::uint16_t>(n);  // kNone becomes kNothing
    return *this;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it is a number wherever one is asked for
  constexpr operator std::uint32_t() const { return value_ == kNothing ? kNone : value_; }

 private:
  static constexpr std::uint16_t kNothing = 0xFFFF;
  std::uint16_t value_ = kNothing;
};

// Four cache lines, in the order of how often they are needed: a requester's packet touches the first and the second,
// a responder's the first and the third.
struct alignas(64) Context {
  Context() {}  // NOLINT(modernize-use-equals-default): of each union the first member lives, roce's

  // -- Who we are and whom we talk to: written by modify_qp, read with every packet.
  wire::Qpn qpn{};  // 0: the slot is free
  QpState state = QpState::reset;
  wire::Service service{};
  std::uint8_t mtu_shift = 10;  // path MTU = 1 << mtu_shift, 256 ... 4096
  std::uint8_t gid_index : 4 = 0;
  std::uint8_t service_level : 4 = 0;  // 0 ... 15: what the scheduler tells queue pairs apart by
  wire::Address peer;
  wire::FlowMarks marks;
  wire::Qpn peer_qpn{};
  std::uint16_t domain = 0;
  wire::Pkey pkey = wire::kDefaultPkey;
  Rights rights{};  // what the peer may do here
  bool signal_all : 1 = false;
  bool rung : 1 = false;        // the host has rung its doorbell and the card has not heard it yet
  bool scheduled : 1 = false;   // stands in the schedule queue
  bool ack_queued : 1 = false;  // stands in the acknowledgement queue
  bool owes_ack : 1 = false;
  bool nak_sent : 1 = false;  // one NAK per gap
  bool rnr_wait : 1 = false;
  bool reread : 1 = false;             // a gap in READ responses has been answered already
  bool uc_skipping : 1 = false;        // UC: rest of a damaged message
  bool responder_stopped : 1 = false;  // answers what it owes, accepts nothing more
  bool sq_stalled : 1 = false;         // entry sq_next cannot be sent: breaks once it is the oldest
  bool drain_notify : 1 = false;
  bool drained : 1 = false;
  bool established : 1 = false;  // a packet has arrived
  bool flushed : 1 = false;
  bool requests_lost : 1 = false;        // srnic: in loss recovery, of each kind that goes out;
  bool responses_lost : 1 = false;       //   of those that come in `run` says so
  bool owes_response_ack : 1 = false;    // srnic
  bool by_agreement : 1 = false;         // its dialect: the peer may still turn out to speak the other
  bool requests_awaited : 1 = false;     // srnic: under way since the timer was set, and not heard of,
  bool responses_awaited : 1 = false;    //   of each kind that goes out
  bool long_read : 1 = false;            // srnic: the READ under way is one that goes alone; StaR: see stateless()
  bool responses_suspended : 1 = false;  // srnic: until something is heard of the peer
  bool waits : 1 = false;  // among those that wait until more may be under way to the peer (nic/congestion/peers.h)
  bool woken : 1 = false;  // it has waited long enough, and its turn is next
  bool window_cut : 1 = false;  // srnic: because of a timeout that may turn out to have been no loss
  bool unheard : 1 = false;     // what it has under way is most likely gone: it takes nobody's room at the peer
  bool sent_since : 1 = false;  // srnic: something new has left since the timer was set
  bool assured : 1 = false;     // srnic: the peer has said that it has everything, since it was asked last
  bool head_waits : 1 = false;  // entry sq_next waits for READs and atomics before it: a fence, or too many of them
  Dialect dialect : 2 = Dialect::roce;
  std::uint8_t saved_pending = 0;      // READs and atomics to be answered
  std::uint8_t max_send_sges : 6 = 0;  // the host's: what a work request may have
  std::uint8_t may_call : 1 = 0;       // the host's: the peer is a card whose kernels may be called
  std::uint8_t serves : 1 = 0;         // the peer may call kernels here (nic/kernels): half of the send queue is theirs
  std::uint16_t losses_told = 0;       // srnic: what goes out and was lost, as often as the software was told of it
  std::uint16_t peer_slot = kNoPeer;   // the peer in the table of peers (nic/congestion/peers.h)
  std::uint16_t marked_share = 0;      // srnic, DCTCP's alpha: the estimated share of marked packets, in 65535ths
  std::uint16_t max_inline = 0;        // the host's: what a work request may carry
  Time deadline = kNever;              // retransmission or RNR wait

  // -- The requester: which work is next, what is under way.
  alignas(64) std::byte* sq = nullptr;  // ring of Work entries in host memory
  std::uint16_t sq_stride = 0;
  std::uint8_t sq_shift = 0;  // 1 << sq_shift entries
  std::uint8_t max_reads = 0, reads_under_way = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t retry_count : 4 = 0, retries_left : 4 = 0;
  std::uint8_t rnr_retry : 4 = 0, rnr_retries_left : 4 = 0;
  union {
    std::uint8_t since_ack_request = 0;  // roce: packets
    std::uint8_t silences;               // srnic: timeouts in a row
  };
  Refusal broken_by = Refusal::none;  // the first rule that was broken, for those who ask why
  std::uint16_t counted = 0;          // packets of it that are in the peer's account (nic/congestion/peers.h)
  std::uint32_t sq_posted = 0;        // free-running counts: entries posted,
  std::uint32_t sq_next = 0;          //   next to be sent,
  std::uint32_t sq_done = 0;          //   and oldest not yet complete
  std::uint32_t next_offset = 0;      // bytes of entry sq_next already sent
  wire::Psn next_psn{};               // of the next packet
  union {
    wire::Psn sent_psn{};    // roce: one past the furthest PSN ever sent: acknowledgements beyond it are ghosts
    std::uint32_t next_ssn;  // srnic: of the next message that uses a receive entry
  };
  wire::Psn done_psn{};     // first PSN of entry sq_done
  wire::Psn unacked_psn{};  // oldest PSN without acknowledgement
  std::uint16_t send_cq = 0;
  std::uint16_t retry_ring = 0xFFFF;      // srnic: what is to be sent again (nic/control.h)
  std::uint16_t window = 0;               // srnic: packets that may be under way, in 16ths; all that goes out shares it
  std::uint16_t responses_under_way = 0;  // srnic
  std::uint32_t timer = 0;                // where the timers keep this slot (nic/schedule/timers.h)

  // -- The responder: what is expected, what is under way, what is owed.
  alignas(64) wire::Psn expected_psn{};
  std::uint32_t receive_entry = kNone;  // entry taken by the message under way
  union {
    RoceInbound roce{};
    SrnicRequests srnic;
  };
  std::uint32_t rq_posted = 0, rq_done = 0;
  QueueNumber shared_rq;
  std::uint16_t receive_cq = 0;
  // srnic: packets that have not been told of, which arrived with a mark, or had arrived before
  std::uint16_t marked : 12 = 0, duplicates : 4 = 0;
  std::uint8_t owed_syndrome = 0;
  Inbound inbound = Inbound::none;
  std::uint8_t min_rnr_timer = 0;
  std::uint8_t saved_size = 0;
  std::uint8_t saved_next = 0;
  std::uint8_t rq_shift = 0;
  std::uint8_t retry_credit = kMostRetryCredit;  // srnic: packets that may be sent again
  Refusal stall_reason = Refusal::none;
  std::uint16_t rq_stride = 0;

  // -- Seldom needed.
  alignas(64) std::byte* rq = nullptr;  // ring of Receive entries in host memory
  SavedResponse* saved = nullptr;       // ring of READs and atomics in host memory
  union {
    wire::Qkey qkey{};  // UD
    SrnicResponses responses;
    StarLink* link;  // StaR's stateful side: what else it keeps (nic/star/link.h)
  };
  KernelServer* calls = nullptr;  // if it serves: what it needs for that (nic/kernels/kernel_table.h)
  Status break_status : 4 {};     // why the responder breaks off once its answer is sent
  Status stall_status : 4 {};
  // srnic, in recovery: one past the newest packet that is known to have arrived (low bits), of one kind that goes out.
  std::uint16_t passed : 15 = 0, passed_is_response : 1 = 0;

  // StaR: this context is in host memory, and no card has one (nic/stateless_block.h).
  [[nodiscard]] bool stateless() const { return dialect == Dialect::star && long_read; }
  void make_stateless() {
    dialect = Dialect::star;
    long_read = true;
  }
};
static_assert(sizeof(Context) == 256, "SRNIC's slot");
// SRNIC's budget of state is 210 bytes. Counted is what an srnic connection uses: not the alignment of cache lines, not
// the other dialect's share of a union, not what the host alone reads, and not the timer's two words, which stand in
// the scheduler's account.
inline constexpr std::size_t kContextStateBytes =
    (offsetof(Context, max_inline) - sizeof(std::uint8_t)) +           // line 1, without what is the host's
    (offsetof(Context, timer) - offsetof(Context, sq)) +               // line 2, up to the timer
    (sizeof(Context::expected_psn) + sizeof(Context::receive_entry) +  // line 3
     (sizeof(SrnicInbound) + sizeof(CongestionRound)) +                //
     (offsetof(Context, rq_stride) + sizeof(Context::rq_stride) - offsetof(Context, rq_posted))) +
    (sizeof(Context::rq) + sizeof(Context::saved) +                                             // line 4
     (sizeof(SrnicInbound) + 2 * sizeof(wire::Psn)) + sizeof(Status) + sizeof(std::uint16_t));  // from break_status on
static_assert(kContextStateBytes <= 210);
inline constexpr std::size_t kContextTimerBytes = sizeof(Context::deadline) + sizeof(Context::timer);

[[nodiscard]] constexpr std::uint32_t path_mtu(const Context& c) { return 1U << c.mtu_shift; }

// How many PSNs a message takes: as many as it has packets, one if it is empty.
[[nodiscard]] constexpr std::uint32_t packets_of(std::uint32_t length, std::uint8_t mtu_shift) {
  return length == 0 ? 1 : static_cast<std::uint32_t>((std::uint64_t{length} + (1U << mtu_shift) - 1) >> mtu_shift);
}

}  // namespace weft::nic
