#include "world/sim/world.h"

namespace weft::sim {

Host& World::add_host(const host::DeviceConfig& config) {
  const auto n = static_cast<std::uint32_t>(all_.size() + 1);
  const auto address = wire::Address::v4(10, static_cast<std::uint8_t>(n >> 16), static_cast<std::uint8_t>(n >> 8),
                                         static_cast<std::uint8_t>(n));
  all_.push_back(std::make_unique<Host>(*this, address, config, random().next()));
  return *all_.back();
}

void World::connect() {
  if (hosts() == 2) {
    connect_back_to_back(*this, 0, 1, spec_.link);
  } else {
    connect_star(*this, spec_.link);
  }
}

bool World::at_rest() const {
  if (parcels_.in_flight() != 0 || parcels_.payloads_in_flight() != 0) return false;
  for (const auto& host : all_) {
    nic::CardState& card = host->device().card();
    if (!card.ready.empty() || !card.owing.empty()) return false;
    for (std::uint32_t slot = 0; slot < card.contexts.size(); ++slot) {
      const nic::Context& c = card.contexts[slot];
      if (c.qpn.raw() != 0 && c.deadline != kNever) return false;
    }
  }
  return true;
}

}  // namespace weft::sim
