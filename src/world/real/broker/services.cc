#include "world/real/broker/services.h"

#include <algorithm>

namespace weft::real {
namespace {
bool overlap(const wire::Address& a, const wire::Address& b) {
  return a == b || a == wire::Address{} || b == wire::Address{};
}
}  // namespace

Services::Entry* Services::find(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                                std::uint16_t port) {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.lane_number == lane_number && e.space == space && e.port == port && e.address == address;
  });
  return it != entries_.end() ? &*it : nullptr;
}

bool Services::is_free(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                       std::uint16_t port) const {
  return std::none_of(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.space == space && e.port == port && overlap(e.address, address) && e.lane_number != lane_number;
  });
}

std::optional<std::uint16_t> Services::take(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                                            std::uint16_t port) {
  if (port != 0) {
    if (Entry* mine = find(lane_number, space, address, port); mine != nullptr) {
      ++mine->uses;
      return port;
    }
    if (!is_free(lane_number, space, address, port)) return std::nullopt;
    entries_.push_back({.lane_number = lane_number, .space = space, .port = port, .address = address, .uses = 1});
    return port;
  }
  for (std::uint32_t tries = 0; tries <= kLastDynamicPort - kFirstDynamicPort; ++tries) {
    const std::uint16_t candidate = next_port_;
    next_port_ = next_port_ == kLastDynamicPort ? kFirstDynamicPort : static_cast<std::uint16_t>(next_port_ + 1);
    if (is_free(0, space, address, candidate)) return take(lane_number, space, address, candidate);
  }
  return std::nullopt;
}

void Services::release(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address,
                       std::uint16_t port) {
  Entry* mine = find(lane_number, space, address, port);
  if (mine == nullptr || --mine->uses > 0) return;
  entries_.erase(entries_.begin() + (mine - entries_.data()));
}

void Services::listen(std::uint8_t lane_number, std::uint16_t space, const wire::Address& address, std::uint16_t port,
                      bool on) {
  if (Entry* mine = find(lane_number, space, address, port); mine != nullptr) mine->listening = on;
}

std::uint8_t Services::listener(const wire::Address& at, std::uint64_t service_id) const {
  const auto space = static_cast<std::uint16_t>(service_id >> 16), port = static_cast<std::uint16_t>(service_id);
  if (service_id >> 32 != 0) return 0;
  const Entry* best = nullptr;
  for (const Entry& e : entries_) {
    if (!e.listening || e.space != space || e.port != port || !overlap(e.address, at)) continue;
    if (best == nullptr || e.address == at) best = &e;  // who asked for this very address comes first
  }
  return best != nullptr ? best->lane_number : 0;
}

void Services::forget(std::uint8_t lane_number) {
  std::erase_if(entries_, [&](const Entry& e) { return e.lane_number == lane_number; });
}

}  // namespace weft::real
