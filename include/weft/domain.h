// A protection domain: queue pairs use only the regions, windows and shared receive queues of their own domain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/handle.h"
#include "weft/queue_pair.h"
#include "weft/region.h"
#include "weft/shared_receive_queue.h"

namespace weft {

class Domain : public detail::Handle<Domain, std::uint32_t> {
 public:
  static constexpr std::string_view kName = "domain";
  Domain() = default;

  [[nodiscard]] Result<Region> register_memory(std::span<std::byte> memory, const RegionOptions& options);
  [[nodiscard]] Result<Region> register_memory(std::span<std::byte> memory, Access access = Access::none) {
    return register_memory(memory, RegionOptions{.access = access});
  }
  [[nodiscard]] Result<Window> create_window(WindowType type);
  [[nodiscard]] Result<SharedReceiveQueue> create_shared_receive_queue(const SharedReceiveQueueOptions& options = {});
  [[nodiscard]] Result<QueuePair> create_queue_pair(const QueuePairOptions& options);
  // Says early what posting would say: can the destination be reached from that address of ours?
  [[nodiscard]] Result<AddressHandle> create_address_handle(const AddressHandle& attributes) const;

 private:
  friend class detail::Handle<Domain, std::uint32_t>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, std::uint32_t domain);
};

}  // namespace weft
