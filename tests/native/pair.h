// Two simulated devices through the public interface alone, each with what most tests need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/weft.h"

namespace weft::test {

inline constexpr Access kAll = Access::local_write | kRemoteAccess | Access::bind_window;

// A card whose tables are cheap to make.
inline constexpr DeviceLimits kSmall{
    .max_queue_pairs = 16, .max_completion_queues = 8, .max_shared_receive_queues = 4, .max_regions = 63};

// What a refused call answered; nothing when it was not refused.
template <class T>
std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

struct Side {
  explicit Side(Simulation& sim, std::size_t bytes = 16 * 1024)
      : device(sim.add_device()),
        domain(must(device.create_domain())),
        memory(bytes),
        region(must(domain.register_memory(memory, kAll))),
        cq(must(device.create_completion_queue(64))) {}

  // Takes all completions that wait.
  std::vector<Completion> drain() {
    std::vector<Completion> all(cq.waiting());
    EXPECT_EQ(cq.poll(all), all.size());
    return all;
  }
  void fill(std::size_t offset, std::size_t length, int seed) {
    for (std::size_t i = 0; i < length; ++i) memory[offset + i] = static_cast<std::byte>((i * 7 + i / 251) + seed);
  }
  [[nodiscard]] std::vector<std::byte> copy(std::size_t offset, std::size_t length) const {
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(offset);
    return {from, from + static_cast<std::ptrdiff_t>(length)};
  }

  Device device;
  Domain domain;
  std::vector<std::byte> memory;
  Region region;
  CompletionQueue cq;
  QueuePair qp;
};

inline constexpr QueuePairLimits kLimits{
    .send_entries = 16, .receive_entries = 16, .send_sges = 4, .receive_sges = 4, .inline_bytes = 64};

// Connected, unless said otherwise.
struct Pair {
  explicit Pair(Service service = Service::rc, const SimulationOptions& options = {.device = kSmall})
      : sim(options), a(sim), b(sim) {
    sim.connect();
    for (Side* side : {&a, &b}) {
      side->qp = must(side->domain.create_queue_pair({.service = service, .limits = kLimits, .send_cq = &side->cq}));
    }
    must(connect(a.qp, b.qp, {.qkey = Qkey(7), .min_rnr_timer = 1, .ack_timeout = 6}));
  }

  // Posts work to a and runs until nothing is left to happen; its completion.
  Completion carry_out(const WorkRequest& work) {
    must(a.qp.post(work));
    EXPECT_TRUE(sim.run(Duration::seconds(10)));
    Completion done;
    EXPECT_TRUE(a.cq.poll(done)) << "nothing completed";
    EXPECT_EQ(done.id, work.id);
    return done;
  }
  // Where datagrams for b go.
  [[nodiscard]] Destination to_b() const {
    return {.path = {.destination = b.device.address()}, .qpn = b.qp.qpn(), .qkey = Qkey(7)};
  }

  Simulation sim;
  Side a, b;
};

}  // namespace weft::test
