// Receives that several queue pairs take from, in the order in which their messages arrive.
#pragma once

#include <cstdint>

#include "weft/handle.h"
#include "weft/types.h"
#include "weft/work.h"

namespace weft::host {
class SharedReceiveQueue;
}

namespace weft {

struct SharedReceiveQueueOptions {
  std::uint32_t entries = 16;
  std::uint32_t max_sges = 1;  // elements of one receive
};

class SharedReceiveQueue : public detail::Handle<SharedReceiveQueue, host::SharedReceiveQueue*> {
 public:
  static constexpr std::string_view kName = "shared receive queue";
  SharedReceiveQueue() = default;

  // Allocates nothing. An entry is free again when its completion has been polled.
  [[nodiscard]] Result<> post_receive(const ReceiveRequest& request);
  // One Event::srq_limit_reached when fewer than this many receives are left; then the limit is 0, which means none.
  [[nodiscard]] Result<> set_limit(std::uint32_t limit);

  [[nodiscard]] SrqNumber number() const;        // what events call it
  [[nodiscard]] std::uint32_t capacity() const;  // at least what was asked for
  [[nodiscard]] std::uint32_t max_sges() const;
  [[nodiscard]] std::uint32_t limit() const;

 private:
  friend class detail::Handle<SharedReceiveQueue, host::SharedReceiveQueue*>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, host::SharedReceiveQueue* srq);
};

}  // namespace weft
