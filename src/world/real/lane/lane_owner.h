// Who a lane belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/queue_pair.h"
#include "wire/types.h"

namespace weft::real {

// What a lane tells its owner.
class LaneOwner {
 public:
  virtual ~LaneOwner() = default;
  // With the lane's lock held: Device::next_completion_event / next_async_event have something new.
  virtual void on_completion_event(std::uint32_t channel) = 0;
  virtual void on_async_event() = 0;
  // With it held, too: this queue pair's context lies elsewhere from now on, and posters that were kept are void.
  virtual void on_moved(host::QueuePair&) {}
  // Without the lock, from the background thread: a management datagram for a connection manager of this program.
  virtual void on_mad(const wire::Address& from, const wire::Address& to, std::span<const std::byte> mad) = 0;
};

}  // namespace weft::real
