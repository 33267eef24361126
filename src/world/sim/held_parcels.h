// What has come to a host that looks only every so often, as a program does that polls between other things: then its
// card gets all of it at once.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "world/sim/parcel.h"

namespace weft::sim {

class HeldParcels {
 public:
  [[nodiscard]] bool empty() const { return packets_.empty(); }

  // The parcel itself is gone after this.
  void add(const Parcel& parcel) {
    Kept& kept = kept_.emplace_back(Kept{parcel.exported_by, {parcel.payload().begin(), parcel.payload().end()}});
    wire::Packet& p = packets_.emplace_back(parcel.packet());
    if (p.payload.is_exported()) {
      p.payload = wire::Payload::exported(kept.exported_by, p.payload.address(), p.payload.size());
    } else {
      p.payload = std::span<const std::byte>(kept.bytes);
    }
  }

  // Calls take(packets) with all of them.
  template <class Take>
  void hand_over(Take&& take) {
    take(std::span<const wire::Packet>(packets_));
    packets_.clear();
    kept_.clear();
  }

 private:
  struct Kept {
    ParcelExport exported_by;
    std::vector<std::byte> bytes;
  };
  std::vector<wire::Packet> packets_;
  std::deque<Kept> kept_;  // what the packets refer to
};

}  // namespace weft::sim
