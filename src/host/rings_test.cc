#include <algorithm>
#include <cstddef>
#include <memory_resource>

#include <gtest/gtest.h>

#include "host/device.h"

namespace weft::host {
namespace {

// Remembers the largest piece that was asked for.
class Watched final : public std::pmr::memory_resource {
 public:
  std::size_t largest = 0;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    largest = std::max(largest, bytes);
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

struct Always final : RandomSource {
  std::uint64_t next() override { return 7; }
};

// Pieces of the pool's memory share pages, and a page is given back when all of them are. A program that makes and
// destroys queue pairs with long queues would leave many behind that hold little.
TEST(Rings, LongOnesAreNotOfThePool) {
  Watched memory;
  Always random;
  DeviceConfig config;
  config.gids = {wire::Address::v4(10, 0, 0, 1)};
  config.memory = &memory;
  Device device(config, random);
  const Domain domain = device.create_domain().value();
  CompletionQueue* cq = device.create_cq(16).value();
  const auto make = [&](std::uint32_t entries) {
    const QpLimits limits{.send_entries = entries, .receive_entries = entries};
    return device.create_qp(domain, {.limits = limits, .send_cq = cq, .receive_cq = cq}).value();
  };
  QueuePair* small = make(16);
  EXPECT_GT(memory.largest, 0U) << "short ones are";
  memory.largest = 0;
  QueuePair* large = make(4096);
  EXPECT_LT(memory.largest, 4096U * 16);
  EXPECT_EQ(device.destroy(large), Error::none);
  EXPECT_EQ(device.destroy(small), Error::none);
}

}  // namespace
}  // namespace weft::host
