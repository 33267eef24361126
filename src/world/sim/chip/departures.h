// Packets that the chip has finished, or will have, and when each leaves for the wire: in that order, whatever the
// order in which they were added.
#pragma once

#include <cassert>
#include <cstdint>
#include <deque>

#include "base/time.h"
#include "world/sim/parcel.h"

namespace weft::sim {

class Departures {
 public:
  struct Packet {
    Time at;
    ParcelId id;
    std::uint32_t bytes;
  };

  void add(Time at, ParcelId id, std::uint32_t bytes) {
    bytes_ += bytes;
    if (packets_.empty() || packets_.back().at <= at) {
      packets_.push_back({at, id, bytes});
      return;
    }
    auto behind = packets_.end() - 1;
    while (behind != packets_.begin() && at < (behind - 1)->at) --behind;  // few overtake, and not many
    packets_.insert(behind, {at, id, bytes});
  }
  [[nodiscard]] bool empty() const { return packets_.empty(); }
  [[nodiscard]] const Packet& first() const { return packets_.front(); }
  Packet take_first() {
    const Packet first = packets_.front();
    packets_.pop_front();
    bytes_ -= first.bytes;
    return first;
  }

  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
  // When fewer than `room` bytes will be left, of which there are more now.
  [[nodiscard]] Time fewer_than(std::uint32_t room) const {
    assert(bytes_ >= room && room > 0);
    std::uint32_t left = bytes_;
    auto packet = packets_.begin();
    while ((left -= packet->bytes) >= room) ++packet;
    return packet->at;
  }

 private:
  std::deque<Packet> packets_;
  std::uint32_t bytes_ = 0;
};

}  // namespace weft::sim
