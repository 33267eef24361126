// A card, as a program holds it. Devices come from a world: the simulated one is weft/simulation.h.
//
// Threads: a device and everything made from it is used by one thread at a time. A world drives its devices only inside
// of calls to the world.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/bytecode.h"
#include "weft/completion_queue.h"
#include "weft/domain.h"
#include "weft/event.h"
#include "weft/handle.h"
#include "weft/kernel.h"
#include "weft/types.h"

namespace weft {

// What a card is made with, and the most that it offers.
struct DeviceLimits {
  std::uint32_t max_queue_pairs = 1024;  // rounded up to a power of two, as all tables are
  std::uint32_t max_completion_queues = 256;
  std::uint32_t max_shared_receive_queues = 64;
  std::uint32_t max_regions = 4095;  // and windows
  std::uint32_t max_queue_entries = 32768;
  std::uint32_t max_completion_entries = 1U << 22;
  std::uint32_t max_sges = 32;
  std::uint32_t max_inline_bytes = 1024;
  std::uint16_t max_mtu = 4096;        // bytes of payload in a packet: 256, 512, ... 4096
  std::uint8_t max_reads = 128;        // READs and atomics under way, in each direction of a queue pair
  std::uint32_t window_packets = 256;  // packets of a reliable connection under way
};

// One count of the card. Names are those of Soft-RoCE's and mlx5's hw_counters where they have one.
struct Counter {
  std::string_view name, meaning;
  std::uint64_t value = 0;
};

class Device : public detail::Handle<Device, std::uint32_t> {
 public:
  static constexpr std::string_view kName = "device";
  Device() = default;

  [[nodiscard]] Result<Domain> create_domain();
  [[nodiscard]] Result<CompletionQueue> create_completion_queue(std::uint32_t entries,
                                                                const CompletionChannel* channel = nullptr);
  [[nodiscard]] Result<CompletionChannel> create_completion_channel();

  // The oldest that has not been taken.
  [[nodiscard]] std::optional<Event> next_event();

  // Kernels that peers may call by their op-code. One that is deployed replaces the one of its op-code; calls that have
  // begun end with the kernel that they began with. The names are good until the kernel is replaced or removed.
  [[nodiscard]] Result<> deploy(const weft_kernel& kernel);
  // Bytecode, if nothing is wrong with it (Error::invalid_argument; the verdict says what) and if it can be run here
  // (Error::not_supported; libweft_bytecode.so.1 is missing).
  [[nodiscard]] Result<> deploy(const weft_bytecode& bytecode, weft_bytecode_verdict* verdict = nullptr);
  [[nodiscard]] Result<> remove_kernel(std::uint64_t opcode);
  [[nodiscard]] std::vector<weft_kernel> kernels() const;

  [[nodiscard]] Address address(std::uint8_t index = 0) const;
  [[nodiscard]] std::uint8_t addresses() const;
  [[nodiscard]] DeviceLimits limits() const;
  // Nobody can guess it: from the system, or from a simulation's seed.
  [[nodiscard]] Psn random_psn();

  // All that the card counts, zeros included, in an order that does not change; and one of them by its name.
  [[nodiscard]] std::vector<Counter> counters() const;
  [[nodiscard]] std::optional<std::uint64_t> counter(std::string_view name) const;

 private:
  friend class detail::Handle<Device, std::uint32_t>;
  friend struct native::Inside;
  using Handle::Handle;
  static Result<> destroy(native::DeviceState& device, std::uint32_t index);
};

}  // namespace weft
