// Everything the card holds, without the code that moves it: flat tables, made once.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "base/zeroed_table.h"
#include "nic/caches/cache_tags.h"
#include "nic/caches/work_cache.h"
#include "nic/congestion/control.h"
#include "nic/congestion/peers.h"
#include "nic/context.h"
#include "nic/control.h"
#include "nic/counters.h"
#include "nic/kernels/kernel_table.h"
#include "nic/memory/capabilities.h"
#include "nic/memory/memory.h"
#include "nic/memory/recent_data.h"
#include "nic/memory/translation.h"
#include "nic/queues.h"
#include "nic/reorder_notes.h"
#include "nic/schedule/schedule_policy.h"
#include "nic/schedule/scheduler.h"
#include "nic/schedule/timers.h"
#include "nic/stateless_block.h"
#include "wire/syndrome.h"

namespace weft::nic {

struct CardConfig {
  Time nanosecond = nanoseconds(1);  // in ticks of the world's clock (base/time.h)
  std::uint32_t max_qps = 1024, max_cqs = 256, max_srqs = 64;
  std::uint32_t region_slot_bits = 12;
  std::uint32_t window_packets = 256;      // most packets of a connection under way
  std::uint32_t srnic_window_packets = 0;  // the same of one that speaks srnic, which has to repeat little; 0: as many
  std::uint32_t works_per_turn = 8;        // SRNIC's n
  std::uint32_t burst_bytes = 16 * 1024;
  Policy policy = Policy::round_robin;  // whose turn it is
  Weights weights = usual_weights();    // of the weighted policy
  // On-chip caches, in bytes. 0 is none: work entries are fetched and dropped, receive entries fetched one by one, and
  // a region's first byte tells where all of it is.
  std::uint32_t work_cache_bytes = 0, receive_cache_bytes = 0, mtt_cache_bytes = 0;
  CacheShape work_cache{}, mtt_cache{};
  std::uint8_t acknowledge_every = 64;  // packets of one message between two requests for acknowledgement
  // -- What connections to one peer share (nic/congestion/peers.h).
  Time target_delay = 0;         // that an answer should take at most; 0: what is under way to a peer is not limited
  std::uint8_t peer_shift = 24;  // bits of a queue pair number that tell those of one card apart
  // -- roce. A responder tells once of a gap (IBA 9.7.5.1.3); some cards tell again when the peer has gone back and the
  // packet is missing again, instead of leaving that to the peer's timeout.
  bool naks_again = false;
  // -- srnic
  CongestionControl congestion = CongestionControl::dctcp;
  bool requester_bitmaps = true;  // false: only responders keep them, and tell requesters exactly what is missing
  Time probe_delay =
      microseconds(100);               // shortest silence after which the peer is asked what it has; doubles each time
  std::uint32_t reorder_notes = 1024;  // packets ahead of their turn that end something, all connections together
  std::uint32_t retry_rings = 256;     // connections that can be sending again at once
  // -- StaR: a packet that changes memory is good for at least so long; then copies of it are stale.
  Time star_lifetime = microseconds(200);
  std::uint32_t star_recent = 8192;      // of such packets a stateless card knows so many for copies: a power of two
  Time star_silence = microseconds(20);  // beyond the usual time of an answer: then the packet counts as lost
  // A stateless card that trusts its peers' cards, as the paper's does: packets need no capability, carry no extension,
  // and are not checked beyond the bounds of registered memory. For comparisons on networks where everybody is trusted.
  bool star_trust = false;

  [[nodiscard]] constexpr Time rnr_delay(std::uint8_t code) const { return wire::rnr_delay(code, nanosecond); }
  [[nodiscard]] constexpr Time ack_timeout(std::uint8_t code) const { return wire::ack_timeout(code, nanosecond); }
};

// Most packets of an srnic connection under way.
[[nodiscard]] constexpr std::uint32_t srnic_window(const CardConfig& c) {
  return c.srnic_window_packets != 0 ? c.srnic_window_packets : c.window_packets;
}

struct PortAttributes {
  static constexpr std::size_t kMaxGids = 8;
  std::array<wire::Address, kMaxGids> gids{};
  std::uint8_t gid_count = 0;
  std::uint8_t mtu_shift = 12;

  [[nodiscard]] bool has(const wire::Address& a) const {
    for (std::uint8_t i = 0; i < gid_count; ++i) {
      if (gids[i] == a) return true;
    }
    return false;
  }
  // Can this address be reached from that one of ours? No packet is both IPv4 and IPv6.
  [[nodiscard]] bool reaches(const wire::Address& a, std::uint8_t from) const {
    return from < gid_count && gids[from].is_v4() == a.is_v4();
  }
};

class ContextTable {
 public:
  explicit ContextTable(std::uint32_t size) : slots_(std::bit_ceil(size)) {}
  [[nodiscard]] Context& operator[](std::uint32_t slot) { return slots_[slot]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(slots_.size()); }
  [[nodiscard]] std::uint32_t slot_of(const Context& c) const { return slots_.slot_of(c); }
  [[nodiscard]] std::uint32_t slot_of(wire::Qpn qpn) const { return qpn.raw() & (size() - 1); }
  // The slot is in the number; what is left of it tells a new owner of the slot from an old one.
  [[nodiscard]] Context* find(wire::Qpn qpn) {
    Context& c = slots_[slot_of(qpn)];
    return c.qpn == qpn && qpn.raw() != 0 ? &c : nullptr;
  }
  Context& make(std::uint32_t slot) { return slots_.make(slot); }
  [[nodiscard]] std::span<std::byte> bytes() { return slots_.bytes(); }
  void erase(std::uint32_t slot) { slots_.erase(slot); }

 private:
  ZeroedTable<Context> slots_;
};

struct CardState {
  explicit CardState(const CardConfig& c)
      : config(c),
        contexts(c.max_qps),
        cqs(c.max_cqs),
        srqs(c.max_srqs),
        memory(c.region_slot_bits, c.star_trust),
        ready(c.policy, contexts.size(), contexts, c.weights),
        owing(contexts.size()),
        works(c.work_cache_bytes, contexts.size(), c.work_cache),
        receives(c.receive_cache_bytes, contexts.size() + c.max_srqs, c.work_cache),
        translations(c.mtt_cache_bytes, c.mtt_cache),
        timers(contexts, c.nanosecond),
        cq_timers(cqs, c.nanosecond),
        peers(contexts.size()),
        reorder_notes(c.reorder_notes),
        retries(c.retry_rings) {}

  CardConfig config;
  PortAttributes port;
  ContextTable contexts;
  ZeroedTable<CompletionRing> cqs;
  ZeroedTable<SharedReceiveRing> srqs;
  MemoryGate memory;
  ReadyQueue<ContextTable> ready;  // queue pairs with packets to send
  SlotQueue owing;                 // queue pairs that owe an acknowledgement
  WorkCache works;                 // of queue pairs, by slot
  WorkCache receives;              // of queue pairs, by slot, and behind them of shared receive queues
  TranslationCache translations;
  Timers<ContextTable> timers;
  Timers<ZeroedTable<CompletionRing>> cq_timers;
  Peers peers;
  ReorderNotes reorder_notes;      // in host memory,
  ZeroedTable<RetryRing> retries;  //   as these are
  // All that the card has of stateless connections, however many there are: where their blocks are in host memory.
  ZeroedTable<StatelessBlock>* blocks = nullptr;
  SlotQueue* rung_blocks = nullptr;  // and where the host hears of those that it is to look at
  CapabilityIssuer capabilities;
  RecentData* recent_data = nullptr;  // of all of them together
  // Kernels that peers may call; nullptr: there have never been any. Calls of one that does not exist go to
  // `no_kernel`, which answers that.
  KernelTable* kernels = nullptr;
  DeployedKernel* no_kernel = nullptr;
  Counters counters;
  bool receives_low = false;  // a receive queue has come to its last eighth, since the host took this back
};

// Something that the peer has not acknowledged, and may still fetch from where it lies.
inline bool may_have_exported(const Context& c) {
  return c.dialect == Dialect::srnic && (c.next_psn != c.unacked_psn || c.responses_under_way != 0);
}

}  // namespace weft::nic
