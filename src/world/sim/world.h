// The simulated world: one event queue, hosts with cards, links with faults, and a seed from which everything follows.
//
//   World world({.seed = 7, .link = {.bits_per_second = 100'000'000'000, .delay = microseconds(1)}});
//   Host& a = world.add_host();
//   Host& b = world.add_host();
//   world.connect();                       // a cable between two, a switch between more
//   world.run(application(a, b));
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "world/sim/fabric.h"
#include "world/sim/host.h"
#include "world/sim/topology.h"

namespace weft::sim {

struct WorldSpec {
  std::uint64_t seed = 1;
  LinkSpec link{.bits_per_second = 100'000'000'000, .delay = microseconds(1)};
  host::DeviceConfig device{};
};

class World : public Fabric<Host> {
 public:
  explicit World(const WorldSpec& spec) : Fabric(spec.seed), spec_(spec) {}

  Host& add_host() { return add_host(spec_.device); }
  Host& add_host(const host::DeviceConfig& config);
  void connect();

  [[nodiscard]] Host& at(HostIndex i) { return *all_[i]; }
  [[nodiscard]] const WorldSpec& spec() const { return spec_; }
  // Nothing in flight and no timer armed: every exchange has come to its end.
  [[nodiscard]] bool at_rest() const;

 private:
  friend class Host;
  WorldSpec spec_;
  std::vector<std::unique_ptr<Host>> all_;
};

}  // namespace weft::sim
