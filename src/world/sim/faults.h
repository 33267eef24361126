// What goes wrong on one direction of a link: the injector that decides it (world/faults.h), and the packets that it
// has wait for the next one to pass. What is decided is carried out by the link's network.
#pragma once

#include <cstdint>
#include <vector>

#include "world/faults.h"
#include "world/sim/parcel.h"

namespace weft::sim {

using world::BlackHole, world::Chance, world::DropReason, world::Fault, world::FaultCounters, world::FaultInjector,
    world::FaultPlan, world::Random, world::ScriptedFault, world::Fate;

class LinkFaults : public FaultInjector {
 public:
  using FaultInjector::FaultInjector;

  // By its ticket a packet is found again, if it still waits, when it has waited long enough.
  void hold(ParcelId parcel, std::uint32_t ticket) { held_.push_back({ticket, parcel}); }
  [[nodiscard]] bool holding() const { return !held_.empty(); }
  // The parcel of that ticket, if it is still here; it is not, afterwards.
  [[nodiscard]] bool let_go(std::uint32_t ticket, ParcelId& parcel);
  // All of them, in the order in which they came.
  template <class Sink>
  void let_all_go(Sink&& sink) {
    for (const Held& one : held_) sink(one.parcel);
    held_.clear();
  }

 private:
  struct Held {
    std::uint32_t ticket;
    ParcelId parcel;
  };
  std::vector<Held> held_;
};

}  // namespace weft::sim
