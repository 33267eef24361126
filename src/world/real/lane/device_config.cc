#include "world/real/lane/device_config.h"

#include <algorithm>

#include "wire/lane_number.h"
#include "world/real/os/time.h"
#include "world/real/settings/addresses.h"

namespace weft::real {
namespace {

// -- all that settings do not say
constexpr std::uint32_t kMaxQps = 1U << wire::kLaneShift, kMaxCqs = 1U << 14, kMaxSrqs = 1U << 12;
constexpr std::uint32_t kRegionSlotBits = 16;
constexpr std::uint32_t kMtu = 4096;
constexpr Time kProbeDelay = milliseconds(1);    // programs that share processors are often silent for shorter
constexpr std::uint32_t kSrnicWindow = 1024;     // packets: as much as READs of one connection have under way in roce
constexpr Time kTargetDelay = milliseconds(1);   // of an answer, when programs share processors
constexpr Time kStarLifetime = milliseconds(4);  // of a packet, whoever has the processors meanwhile
constexpr std::uint32_t kReorderNotes = 16384;   // packets out of order, of all connections together

}  // namespace

host::DeviceConfig device_config(const Settings& settings, std::pmr::memory_resource& memory) {
  host::DeviceConfig config;
  config.gids = settings.port_addresses();
  if (config.gids.size() > kMaxAddresses) config.gids.resize(kMaxAddresses);
  config.mtu = kMtu;
  for (const wire::Address& a : config.gids) config.mtu = std::min(config.mtu, roce_mtu(a));
  config.card.nanosecond = nanoseconds(1);
  config.card.max_qps = std::min(settings.max_qps, kMaxQps);
  config.card.max_cqs = kMaxCqs;
  config.card.max_srqs = kMaxSrqs;
  config.card.region_slot_bits = kRegionSlotBits;
  config.card.congestion = settings.congestion;
  config.card.window_packets = settings.window.value_or(nic::CardConfig{}.window_packets);
  config.card.srnic_window_packets = settings.window.value_or(kSrnicWindow);
  config.card.requester_bitmaps = settings.requester_bitmaps;
  config.card.probe_delay = kProbeDelay;
  // Who waits for a peer's window waits in line, whatever its service level: other policies know no such line.
  const bool in_turn = settings.policy == nic::Policy::round_robin;
  const bool shares = in_turn && settings.congestion != nic::CongestionControl::none;
  config.card.target_delay = shares ? kTargetDelay : 0;
  config.card.peer_shift = wire::kLaneShift;
  config.card.reorder_notes = kReorderNotes;
  config.card.star_lifetime = kStarLifetime;
  config.card.star_silence = kProbeDelay;
  config.card.policy = settings.policy;
  config.card.weights = settings.weights;
  config.card.works_per_turn = settings.works_per_turn;
  config.card.burst_bytes = settings.burst_bytes;
  config.dialect = dialect_of(settings);
  config.role = settings.role;
  config.card.star_trust = !settings.capabilities;
  config.max_stateless = config.card.max_qps;
  config.memory = &memory;
  return config;
}

}  // namespace weft::real
