// A switch: a packet that has arrived whole goes to the output link of its destination at once and waits there as long
// as it must. Its buffer has no end, and then nothing is dropped or paused, unless it is given one (shared_buffer.h).
#pragma once

#include <memory>
#include <vector>

#include "world/sim/link.h"
#include "world/sim/parcel.h"
#include "world/sim/shared_buffer.h"

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
  // nullptr: it has no end.
  [[nodiscard]] SharedBuffer* buffer() const { return buffer_.get(); }
  void set_buffer(std::unique_ptr<SharedBuffer> buffer) { buffer_ = std::move(buffer); }

 private:
  std::vector<LinkIndex> out_;  // by host; addresses are looked up once, when a packet is sent (routes.h)
  std::unique_ptr<SharedBuffer> buffer_;
};

}  // namespace weft::sim
