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
constexpr Field<Profile> field(std::string_view key, const What& what, Member member, double least = 0,
                               double most = 0) {
  if constexpr (std::is_same_v<What, Kind>) {
    return make_field<Profile>(key, what, member, least, most);
  } else {
    return make_field<Profile>(key, std::span<const std::string_view>(what), member);
  }
}

using enum Kind;
// clang-format off
constexpr std::array kFields{
    field("link_rate", rate, [](auto& p) -> auto& { return p.link_bits_per_second; }, 1e6, 1e13),
    // The chip.
    field("clock", frequency, [](auto& p) -> auto& { return p.chip.clock_mhz; }, 0, 1e5),
    field("datapath_bytes", size, [](auto& p) -> auto& { return p.chip.datapath_bytes; }, 0, 4096),
    field("transmit_cycles", count, [](auto& p) -> auto& { return p.chip.transmit_cycles; }, 0, 1e6),
    field("receive_cycles", count, [](auto& p) -> auto& { return p.chip.receive_cycles; }, 0, 1e6),
    field("turn_cycles", count, [](auto& p) -> auto& { return p.chip.turn_cycles; }, 0, 1e6),
    field("work_cycles", count, [](auto& p) -> auto& { return p.chip.work_cycles; }, 0, 1e6),
    field("packet_cycles", count, [](auto& p) -> auto& { return p.chip.packet_cycles; }, 0, 1e6),
    field("doorbell_carries_work", truth, [](auto& p) -> auto& { return p.chip.doorbell_carries_work; }),
    field("completion_bytes", size, [](auto& p) -> auto& { return p.chip.completion_bytes; }, 0, 4096),
    field("misses_under_way", count, [](auto& p) -> auto& { return p.chip.misses_under_way; }, 0, 1e6),
    field("under_way", kUnderWay, [](auto& p) -> auto& { return p.chip.under_way; }),
    field("sram_bytes", size, [](auto& p) -> auto& { return p.chip.sram_bytes; }),
    field("transmit_buffer_bytes", size, [](auto& p) -> auto& { return p.chip.transmit_buffer_bytes; }),
    field("receive_buffer_bytes", size, [](auto& p) -> auto& { return p.chip.receive_buffer_bytes; }),
    field("pause", truth, [](auto& p) -> auto& { return p.chip.pause; }),
    field("control_bytes", size, [](auto& p) -> auto& { return p.chip.control_bytes; }, 0, 4096),
    field("control_time", time, [](auto& p) -> auto& { return p.chip.control_time; }, 0, 1e12),
    field("rewind_delay", time, [](auto& p) -> auto& { return p.chip.rewind_delay; }, 0, 1e12),
    // Its contexts.
    field("contexts.entries", count, [](auto& p) -> auto& { return p.chip.contexts.entries; }, 0, 1 << 24),
    field("contexts.ways", count, [](auto& p) -> auto& { return p.chip.contexts.shape.ways; }, 0, 1 << 24),
    field("contexts.replacement", kOrders, [](auto& p) -> auto& { return p.chip.contexts.shape.replacement; }),
    field("contexts.entry_bytes", size, [](auto& p) -> auto& { return p.chip.contexts.entry_bytes; }, 0, 1 << 16),
    // The bus.
    field("pcie.generation", count, [](auto& p) -> auto& { return p.chip.pcie.generation; }, 0, 5),
    field("pcie.lanes", count, [](auto& p) -> auto& { return p.chip.pcie.lanes; }, 1, 32),
    field("pcie.max_payload", size, [](auto& p) -> auto& { return p.chip.pcie.max_payload; }, 128, 4096),
    field("pcie.max_read_request", size, [](auto& p) -> auto& { return p.chip.pcie.max_read_request; }, 128, 4096),
    field("pcie.tags", count, [](auto& p) -> auto& { return p.chip.pcie.tags; }, 0, 1 << 16),
    field("pcie.read_latency", time, [](auto& p) -> auto& { return p.chip.pcie.read_latency; }, 0, 1e12),
    field("pcie.write_latency", time, [](auto& p) -> auto& { return p.chip.pcie.write_latency; }, 0, 1e12),
    field("pcie.doorbell_latency", time, [](auto& p) -> auto& { return p.chip.pcie.doorbell_latency; }, 0, 1e12),
    // The card.
    field("dialect", kDialects, [](auto& p) -> auto& { return p.device.dialect; }),
    field("port_mtu", size, [](auto& p) -> auto& { return p.device.mtu; }, 256, 4096),
    field("max_reads", count, [](auto& p) -> auto& { return p.device.max_reads; }, 1, 128),
    field("max_inline", size, [](auto& p) -> auto& { return p.device.max_inline; }, 0, 1024),
    field("max_qps", count, [](auto& p) -> auto& { return p.device.card.max_qps; }, 1, 1 << 22),
    field("window_packets", count, [](auto& p) -> auto& { return p.device.card.window_packets; }, 1, 1 << 20),
    field("works_per_turn", count, [](auto& p) -> auto& { return p.device.card.works_per_turn; }, 1, 4096),
    field("burst_bytes", size, [](auto& p) -> auto& { return p.device.card.burst_bytes; }, 1, 1 << 30),
    field("policy", kPolicies, [](auto& p) -> auto& { return p.device.card.policy; }),
    field("work_cache_bytes", size, [](auto& p) -> auto& { return p.device.card.work_cache_bytes; }),
    field("receive_cache_bytes", size, [](auto& p) -> auto& { return p.device.card.receive_cache_bytes; }),
    field("mtt_cache_bytes", size, [](auto& p) -> auto& { return p.device.card.mtt_cache_bytes; }),
    field("work_cache.ways", count, [](auto& p) -> auto& { return p.device.card.work_cache.ways; }, 0, 1 << 24),
    field("work_cache.replacement", kOrders, [](auto& p) -> auto& { return p.device.card.work_cache.replacement; }),
    field("mtt_cache.ways", count, [](auto& p) -> auto& { return p.device.card.mtt_cache.ways; }, 0, 1 << 16),
    field("mtt_cache.replacement", kOrders, [](auto& p) -> auto& { return p.device.card.mtt_cache.replacement; }),
    field("acknowledge_every", count, [](auto& p) -> auto& { return p.device.card.acknowledge_every; }, 1, 255),
    field("naks_again", truth, [](auto& p) -> auto& { return p.device.card.naks_again; }),
    field("congestion", kCongestion, [](auto& p) -> auto& { return p.device.card.congestion; }),
    field("requester_bitmaps", truth, [](auto& p) -> auto& { return p.device.card.requester_bitmaps; }),
    field("probe_delay", time, [](auto& p) -> auto& { return p.device.card.probe_delay; }, 1, 1e12),
    field("early_notes", count, [](auto& p) -> auto& { return p.device.card.reorder_notes; }, 1, 1 << 24),
    field("retry_rings", count, [](auto& p) -> auto& { return p.device.card.retry_rings; }, 1, 1 << 20),
    // The host's threads.
    field("thread.post", time, [](auto& p) -> auto& { return p.thread.post; }, 0, 1e12),
    field("thread.doorbell", time, [](auto& p) -> auto& { return p.thread.doorbell; }, 0, 1e12),
    field("thread.poll", time, [](auto& p) -> auto& { return p.thread.poll; }, 0, 1e12),
    field("thread.completion", time, [](auto& p) -> auto& { return p.thread.completion; }, 0, 1e12),
};
// clang-format on

}  // namespace

std::span<const Field<Profile>> profile_fields() { return kFields; }

const Field<Profile>* find_profile_field(std::string_view key) {
  const auto* found = std::find_if(kFields.begin(), kFields.end(), [&](const auto& f) { return f.key == key; });
  return found == kFields.end() ? nullptr : found;
}

}  // namespace weft::lab
