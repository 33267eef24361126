// An ideal switch: a packet that has arrived whole goes to the output link of its destination at once and waits there
// as long as it must. Buffers have no end, so nothing is dropped or marked.
#pragma once

#include <vector>

#include "world/sim/link.h"
#include "world/sim/parcel.h"

namespace weft::sim {

class Switch {
 public:
  void set_route(HostIndex destination, LinkIndex out) {
    if (out_.size() <= destination) out_.resize(destination + std::size_t{1}, kNoLink);
    out_[destination] = out;
  }
  [[nodiscard]] LinkIndex route(HostIndex destination) const {
    return destination < out_.size() ? out_[destination] : kNoLink;
  }

 private:
  std::vector<LinkIndex> out_;  // by host; addresses are looked up once, when a packet is sent (routes.h)
};

}  // namespace weft::sim
