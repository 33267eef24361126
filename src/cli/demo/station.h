// The stage of the demonstration: hosts, and the ends of connections on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/demo/report.h"
#include "weft/weft.h"

namespace weft::cli {

inline constexpr Access kEveryAccess = Access::local_write | kRemoteAccess | Access::bind_window;

// Registered memory.
class Buffer {
 public:
  Buffer(Domain& domain, std::size_t bytes)
      : bytes_(bytes), region_(must(domain.register_memory(bytes_, kEveryAccess))) {}
  [[nodiscard]] std::span<std::byte> at(std::size_t offset, std::size_t length) {
    return std::span(bytes_).subspan(offset, length);
  }
  [[nodiscard]] const Region& region() const { return region_; }

 private:
  std::vector<std::byte> bytes_;
  Region region_;
};

// A host: its card and a domain.
struct DemoStation {
  explicit DemoStation(Simulation& sim) : device(sim.add_device()), domain(must(device.create_domain())) {}

  Device device;
  Domain domain;
};

// A queue pair with queues and memory of its own.
struct DemoEnd {
  static constexpr std::uint32_t kQueue = 64;

  DemoEnd(DemoStation& on, Service service, std::size_t memory_bytes, const SharedReceiveQueue* srq = nullptr);

  DemoStation& station;
  Buffer memory;
  CompletionQueue send_cq, receive_cq;
  QueuePair qp;
};

// What a coroutine of the demonstration works with.
struct Stage {
  Simulation& sim;
  Scoreboard& board;
  std::uint64_t seed;
};

// Posts work of so many bytes and waits until it is done; false: it failed, and the scoreboard knows why.
[[nodiscard]] Task<bool> carry_out(Stage stage, Row row, DemoEnd& on, WorkRequest work, std::uint32_t bytes);

// For a network whose answers come within microseconds: 262 us of silence, and what was sent is sent again.
inline constexpr ConnectOptions kConnect{.mtu = 1024, .min_rnr_timer = 1, .ack_timeout = 6};

}  // namespace weft::cli
