// Hosts without a card, for tests of the engine itself: one writes down what arrives, and answers if it is told to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "wire/ip.h"
#include "world/sim/fabric.h"
#include "world/sim/topology.h"

namespace weft::sim {

inline wire::Address test_address(HostIndex host) {
  return wire::Address::v4(10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host));
}

class TestHost {
 public:
  static constexpr bool kPostsToItself = true;

  struct Arrival {
    Time at;
    std::uint32_t psn;
    friend bool operator==(const Arrival&, const Arrival&) = default;
  };

  explicit TestHost(Fabric<TestHost>& fabric) : fabric_(&fabric) {
    index = fabric.attach(*this, test_address(static_cast<HostIndex>(fabric.hosts())));
  }

  void send(HostIndex to, std::uint32_t psn, std::span<const std::byte> payload, Time earliest) {
    wire::Flow flow;
    flow.source = test_address(index);
    flow.destination = test_address(to);
    wire::Headers headers;
    headers.bth.opcode = wire::Opcode::rc_send_only;
    headers.bth.psn = wire::Psn(psn);
    fabric_->send(index, fabric_->parcels().make(flow, headers, payload), earliest);
  }
  void send(HostIndex to, std::uint32_t psn, std::span<const std::byte> payload = {}) {
    send(to, psn, payload, fabric_->now());
  }

  void on_parcel(Time now, const Parcel& parcel) {
    arrived.push_back({now, parcel.headers.bth.psn.raw()});
    if ((parcel.flow.traffic_class & wire::kCongestionExperienced) == wire::kCongestionExperienced) {
      marked.push_back(parcel.headers.bth.psn.raw());
    }
    payloads.emplace_back(parcel.payload().begin(), parcel.payload().end());
    if (answers == 0) return;
    --answers;
    send(parcel.from, parcel.headers.bth.psn.raw() + 1, parcel.payload());
  }
  void on_refused(Time, Refusal why) { refused.push_back(why); }
  void on_wake(Time now) { wakes.push_back(now); }
  void on_event(Time now, std::uint32_t argument) { events.push_back({now, argument}); }

  [[nodiscard]] std::vector<std::uint32_t> psns() const {
    std::vector<std::uint32_t> all;
    for (const Arrival& one : arrived) all.push_back(one.psn);
    return all;
  }

  HostIndex index = kNoHost;
  std::uint64_t answers = 0;  // how many packets are still answered, with the next PSN
  std::vector<Arrival> arrived, events;
  std::vector<std::uint32_t> marked;  // PSNs of those that met congestion
  std::vector<std::vector<std::byte>> payloads;
  std::vector<Refusal> refused;
  std::vector<Time> wakes;

 private:
  Fabric<TestHost>* fabric_;
};

// A fabric and its hosts: two and a cable, or any number around a switch.
struct TestWorld {
  TestWorld(std::uint64_t seed, std::size_t count, const LinkSpec& link, bool star = false) : fabric(seed) {
    for (std::size_t i = 0; i < count; ++i) hosts.emplace_back(fabric);
    if (star || count != 2) {
      connect_star(fabric, link);
    } else {
      connect_back_to_back(fabric, 0, 1, link);
    }
  }
  Fabric<TestHost> fabric;
  std::deque<TestHost> hosts;
};

}  // namespace weft::sim
