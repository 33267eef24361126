#include "lab/profile_fields.h"

#include <algorithm>
#include <array>

namespace weft::lab {
namespace {

constexpr std::array<std::string_view, 2> kDialects{"roce", "srnic"};
constexpr std::array<std::string_view, 2> kCongestion{"none", "dctcp"};
constexpr std::array<std::string_view, 3> kPolicies{"round_robin", "weighted", "strict"};
constexpr std::array<std::string_view, 2> kUnderWay{"host_memory", "on_chip"};
constexpr std::array<std::string_view, 2> kOrders{"lru", "random"};  // of replacement
static_assert(static_cast<int>(nic::Dialect::srnic) == 1 && static_cast<int>(nic::CongestionControl::dctcp) == 1 &&
              static_cast<int>(nic::Policy::strict) == 2 && static_cast<int>(nic::Replacement::random) == 1 &&
              static_cast<int>(sim::UnderWay::on_chip) == 1);

template <class What, class Member>
constexpr Field<Profile> field(std::string_view key, std::string_view meaning, const What& what, Member member,
                               double least = 0, double most = 0) {
  if constexpr (std::is_same_v<What, Kind>) {
    return make_field<Profile>(key, meaning, what, member, least, most);
  } else {
    return make_field<Profile>(key, meaning, std::span<const std::string_view>(what), member);
  }
}

using enum Kind;
// clang-format off
constexpr std::array kFields{
    field("link_rate", "of its port",
          rate, [](auto& p) -> auto& { return p.link_bits_per_second; }, 1e6, 1e13),
    // The chip.
    field("clock", "of the chip; 0: cycles take no time",
          frequency, [](auto& p) -> auto& { return p.chip.clock_mhz; }, 0, 1e5),
    field("datapath_bytes", "that move in a cycle",
          size, [](auto& p) -> auto& { return p.chip.datapath_bytes; }, 0, 4096),
    field("transmit_cycles", "latency of the way out",
          count, [](auto& p) -> auto& { return p.chip.transmit_cycles; }, 0, 1e6),
    field("receive_cycles", "latency of the way in",
          count, [](auto& p) -> auto& { return p.chip.receive_cycles; }, 0, 1e6),
    field("turn_cycles", "that a turn keeps the scheduler busy",
          count, [](auto& p) -> auto& { return p.chip.turn_cycles; }, 0, 1e6),
    field("work_cycles", "that a work entry keeps its stage busy",
          count, [](auto& p) -> auto& { return p.chip.work_cycles; }, 0, 1e6),
    field("packet_cycles", "that a packet keeps its stage busy",
          count, [](auto& p) -> auto& { return p.chip.packet_cycles; }, 0, 1e6),
    field("doorbell_carries_work", "the first entry of an idle queue comes with its doorbell",
          truth, [](auto& p) -> auto& { return p.chip.doorbell_carries_work; }),
    field("posts_on_chip", "each post is a store with its whole entry, which the card keeps until it is done",
          truth, [](auto& p) -> auto& { return p.chip.posts_on_chip; }),
    field("completion_bytes", "of a completion entry",
          size, [](auto& p) -> auto& { return p.chip.completion_bytes; }, 0, 4096),
    field("misses_under_way", "reads of contexts, work entries and translations that were not on chip; 0: no limit",
          count, [](auto& p) -> auto& { return p.chip.misses_under_way; }, 0, 1e6),
    field("entries_queue", "reads of work and receive entries wait in a queue of their own and are no misses",
          truth, [](auto& p) -> auto& { return p.chip.entries_queue; }),
    field("stateless_reads", "StaR: reads for stateless connections under way; 0: as many as the bus has tags",
          count, [](auto& p) -> auto& { return p.chip.stateless_reads; }, 0, 1e6),
    field("capability_cycles", "StaR: from a capability to its MAC",
          count, [](auto& p) -> auto& { return p.chip.capability_cycles; }, 0, 1e6),
    field("rule_cycles", "StaR: a look into a stateful card's registry",
          count, [](auto& p) -> auto& { return p.chip.rule_cycles; }, 0, 1e6),
    field("sram_bytes", "what the chip has; a profile that needs more is refused",
          size, [](auto& p) -> auto& { return p.chip.sram_bytes; }),
    field("transmit_buffer_bytes", "on chip",
          size, [](auto& p) -> auto& { return p.chip.transmit_buffer_bytes; }),
    field("receive_buffer_bytes", "on chip",
          size, [](auto& p) -> auto& { return p.chip.receive_buffer_bytes; }),
    field("pause", "PFC: a receive buffer that fills pauses its neighbour; without it, what does not fit is dropped",
          truth, [](auto& p) -> auto& { return p.chip.pause; }),
    field("under_way", "where the card has what it needs to complete work that is under way",
          kUnderWay, [](auto& p) -> auto& { return p.chip.under_way; }),
    field("control_bytes", "a message of the control queue",
          size, [](auto& p) -> auto& { return p.chip.control_bytes; }, 0, 4096),
    field("control_arrival_time", "that the host's retransmission software takes for a packet that came out of order",
          time, [](auto& p) -> auto& { return p.chip.control_arrival_time; }, 0, 1e12),
    field("control_news_time", "that it takes for an ACK and other news of the control queue",
          time, [](auto& p) -> auto& { return p.chip.control_news_time; }, 0, 1e12),
    field("rewind_delay", "from hearing that packets are missing to going back (go-back-N)",
          time, [](auto& p) -> auto& { return p.chip.rewind_delay; }, 0, 1e12),
    // Its contexts.
    field("contexts.entries", "contexts on chip; 0: all of them",
          count, [](auto& p) -> auto& { return p.chip.contexts.entries; }, 0, 1 << 24),
    field("contexts.ways", "associativity; 0: any entry anywhere",
          count, [](auto& p) -> auto& { return p.chip.contexts.shape.ways; }, 0, 1 << 24),
    field("contexts.replacement", "which entry makes room",
          kOrders, [](auto& p) -> auto& { return p.chip.contexts.shape.replacement; }),
    field("contexts.entry_bytes", "of a context: what it takes on chip, and what a miss reads",
          size, [](auto& p) -> auto& { return p.chip.contexts.entry_bytes; }, 0, 1 << 16),
    // The bus.
    field("pcie.generation", "1 to 5; 0: the bus costs nothing",
          count, [](auto& p) -> auto& { return p.chip.pcie.generation; }, 0, 5),
    field("pcie.lanes", "of the bus",
          count, [](auto& p) -> auto& { return p.chip.pcie.lanes; }, 1, 32),
    field("pcie.max_payload", "of a write or a completion (MPS)",
          size, [](auto& p) -> auto& { return p.chip.pcie.max_payload; }, 128, 4096),
    field("pcie.max_read_request", "of a read request (MRRS)",
          size, [](auto& p) -> auto& { return p.chip.pcie.max_read_request; }, 128, 4096),
    field("pcie.tags", "read requests under way; 0: no limit",
          count, [](auto& p) -> auto& { return p.chip.pcie.tags; }, 0, 1 << 16),
    field("pcie.read_latency", "from asking to the first byte of the answer, on an idle bus",
          time, [](auto& p) -> auto& { return p.chip.pcie.read_latency; }, 0, 1e12),
    field("pcie.read_jitter", "that a request takes more or less, drawn evenly",
          time, [](auto& p) -> auto& { return p.chip.pcie.read_jitter; }, 0, 1e12),
    field("pcie.write_latency", "from the card to what the host sees",
          time, [](auto& p) -> auto& { return p.chip.pcie.write_latency; }, 0, 1e12),
    field("pcie.doorbell_latency", "from the store to the card",
          time, [](auto& p) -> auto& { return p.chip.pcie.doorbell_latency; }, 0, 1e12),
    field("pcie.command_time", "that a read or write of payload keeps the engine for its direction busy",
          time, [](auto& p) -> auto& { return p.chip.pcie.command_time; }, 0, 1e12),
    // Kernels, and a table of large pages.
    field("kernels.datapath_bytes", "that a kernel takes in a cycle; 0: any number",
          size, [](auto& p) -> auto& { return p.chip.kernels.datapath_bytes; }, 0, 4096),
    field("kernels.step_cycles", "latency of a kernel's step",
          count, [](auto& p) -> auto& { return p.chip.kernels.step_cycles; }, 0, 1e6),
    field("kernels.write_buffer_bytes", "that a kernel has written and the bus has not taken; 0: any number",
          size, [](auto& p) -> auto& { return p.chip.kernels.write_buffer_bytes; }, 0, 1 << 30),
    field("tlb.entries", "translations of large pages, all that there are; 0: the card has no such table",
          count, [](auto& p) -> auto& { return p.chip.tlb.entries; }, 0, 1 << 24),
    field("tlb.page_bytes", "of such a page; no access goes across its end",
          size, [](auto& p) -> auto& { return p.chip.tlb.page_bytes; }, 0, 1 << 30),
    // The card.
    field("dialect", "what reliable connections speak",
          kDialects, [](auto& p) -> auto& { return p.device.dialect; }),
    field("port_mtu", "the largest MTU of the port",
          size, [](auto& p) -> auto& { return p.device.mtu; }, 256, 4096),
    field("max_reads", "READs and atomics under way a connection",
          count, [](auto& p) -> auto& { return p.device.max_reads; }, 1, 128),
    field("max_inline", "payload that fits into a work entry",
          size, [](auto& p) -> auto& { return p.device.max_inline; }, 0, 1024),
    field("max_qps", "queue pairs that the card has room for",
          count, [](auto& p) -> auto& { return p.device.card.max_qps; }, 1, 1 << 22),
    field("window_packets", "packets under way a connection",
          count, [](auto& p) -> auto& { return p.device.card.window_packets; }, 1, 1 << 20),
    field("works_per_turn", "work entries of a turn (n)",
          count, [](auto& p) -> auto& { return p.device.card.works_per_turn; }, 1, 4096),
    field("burst_bytes", "bytes of a turn (burst_size)",
          size, [](auto& p) -> auto& { return p.device.card.burst_bytes; }, 1, 1 << 30),
    field("policy", "who has the next turn",
          kPolicies, [](auto& p) -> auto& { return p.device.card.policy; }),
    field("work_cache_bytes", "cache of work entries; 0: none",
          size, [](auto& p) -> auto& { return p.device.card.work_cache_bytes; }),
    field("receive_cache_bytes", "cache of receive entries; 0: none",
          size, [](auto& p) -> auto& { return p.device.card.receive_cache_bytes; }),
    field("mtt_cache_bytes", "cache of translations; 0: all of them are on chip",
          size, [](auto& p) -> auto& { return p.device.card.mtt_cache_bytes; }),
    field("work_cache.ways", "associativity; 0: any entry anywhere",
          count, [](auto& p) -> auto& { return p.device.card.work_cache.ways; }, 0, 1 << 24),
    field("work_cache.replacement", "which entry makes room",
          kOrders, [](auto& p) -> auto& { return p.device.card.work_cache.replacement; }),
    field("mtt_cache.ways", "associativity; 0: any entry anywhere",
          count, [](auto& p) -> auto& { return p.device.card.mtt_cache.ways; }, 0, 1 << 16),
    field("mtt_cache.replacement", "which entry makes room",
          kOrders, [](auto& p) -> auto& { return p.device.card.mtt_cache.replacement; }),
    field("acknowledge_every", "packets for which an ACK is owed",
          count, [](auto& p) -> auto& { return p.device.card.acknowledge_every; }, 1, 255),
    field("naks_again", "the responder tells of a gap again if what fills it is lost",
          truth, [](auto& p) -> auto& { return p.device.card.naks_again; }),
    field("congestion", "congestion control",
          kCongestion, [](auto& p) -> auto& { return p.device.card.congestion; }),
    field("requester_bitmaps", "srnic: the requester's software keeps the bitmaps, not the responder's",
          truth, [](auto& p) -> auto& { return p.device.card.requester_bitmaps; }),
    field("probe_delay", "srnic: silence after which the requester asks what has come",
          time, [](auto& p) -> auto& { return p.device.card.probe_delay; }, 1, 1e12),
    field("reorder_notes", "srnic: notes of messages that came out of order",
          count, [](auto& p) -> auto& { return p.device.card.reorder_notes; }, 1, 1 << 24),
    field("retry_rings", "srnic: room of the queue of packets to be sent again",
          count, [](auto& p) -> auto& { return p.device.card.retry_rings; }, 1, 1 << 20),
    field("star_trust", "StaR: the stateless card wants no capabilities, as in the paper",
          truth, [](auto& p) -> auto& { return p.device.card.star_trust; }),
    field("star_silence", "StaR: beyond the usual time of an answer a packet counts as lost after this",
          time, [](auto& p) -> auto& { return p.device.card.star_silence; }, 1, 1e12),
    // The host's threads.
    field("thread.post", "a work request",
          time, [](auto& p) -> auto& { return p.thread.post; }, 0, 1e12),
    field("thread.doorbell", "the store that rings it",
          time, [](auto& p) -> auto& { return p.thread.doorbell; }, 0, 1e12),
    field("thread.poll", "looking, and finding nothing",
          time, [](auto& p) -> auto& { return p.thread.poll; }, 0, 1e12),
    field("thread.completion", "taking one",
          time, [](auto& p) -> auto& { return p.thread.completion; }, 0, 1e12),
};
// clang-format on

}  // namespace

std::span<const Field<Profile>> profile_fields() { return kFields; }

const Field<Profile>* find_profile_field(std::string_view key) {
  const auto* found = std::find_if(kFields.begin(), kFields.end(), [&](const auto& f) { return f.key == key; });
  return found == kFields.end() ? nullptr : found;
}

}  // namespace weft::lab
