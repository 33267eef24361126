#include "world/real/broker/services.h"

#include <algorithm>
#include <cerrno>

namespace weft::real {
namespace {
bool overlap(const wire::Address& a, const wire::Address& b) {
  return a == b || a == wire::Address{} || b == wire::Address{};
}
}  // namespace

Services::Entries::iterator Services::find(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                                           std::uint16_t port) {
  const auto [first, last] = entries_.equal_range({space, port});
  const auto is_it = [&](const auto& e) { return e.second.lane_number == lane_number && e.second.address == address; };
  const auto found = std::find_if(first, last, is_it);
  return found != last ? found : entries_.end();
}

bool Services::is_free(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                       std::uint16_t port) const {
  const auto [first, last] = entries_.equal_range({space, port});
  return std::none_of(first, last, [&](const auto& e) {
    return overlap(e.second.address, address) && e.second.lane_number != lane_number;
  });
}

tl::expected<std::uint16_t, int> Services::take(std::uint8_t lane_number, std::uint16_t space,
                                                const wire::Address& address, std::uint16_t port) {
  if (port != 0) {
    if (const auto mine = find(lane_number, space, address, port); mine != entries_.end()) {
      ++mine->second.uses;
      return port;
    }
    if (!is_free(lane_number, space, address, port)) return tl::unexpected(EADDRINUSE);
    if (entries_.size() >= kMost) return tl::unexpected(ENOMEM);
    entries_.emplace(std::pair{space, port}, Entry{.lane_number = lane_number, .address = address, .uses = 1});
    return port;
  }
  for (std::uint32_t tries = 0; tries <= kLastDynamicPort - kFirstDynamicPort; ++tries) {
    const std::uint16_t candidate = next_port_;
    next_port_ = next_port_ == kLastDynamicPort ? kFirstDynamicPort : static_cast<std::uint16_t>(next_port_ + 1);
    if (is_free(0, space, address, candidate)) return take(lane_number, space, address, candidate);
  }
  return tl::unexpected(EADDRINUSE);
}

void Services::release(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                       std::uint16_t port) {
  const auto mine = find(lane_number, space, address, port);
  if (mine == entries_.end() || --mine->second.uses > 0) return;
  entries_.erase(mine);
}

void Services::listen(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address, std::uint16_t port,
                      bool on) {
  if (const auto mine = find(lane_number, space, address, port); mine != entries_.end()) mine->second.listening = on;
}

std::uint8_t Services::listener(const wire::Address& at, std::uint64_t service_id) const {
  const auto space = static_cast<std::uint16_t>(service_id >> 16), port = static_cast<std::uint16_t>(service_id);
  if (service_id >> 32 != 0) return 0;
  const Entry* best = nullptr;
  const auto [first, last] = entries_.equal_range({space, port});
  for (auto it = first; it != last; ++it) {
    const Entry& e = it->second;
    if (!e.listening || !overlap(e.address, at)) continue;
    if (best == nullptr || e.address == at) best = &e;  // who asked for this very address comes first
  }
  return best != nullptr ? best->lane_number : 0;
}

void Services::forget(std::uint8_t lane_number) {
  std::erase_if(entries_, [&](const auto& e) { return e.second.lane_number == lane_number; });
}

}  // namespace weft::real
