// Posting and polling take no memory: every allocation of this program is counted.
#include <cstdlib>
#include <new>

#include "pair.h"

namespace {
std::uint64_t allocations = 0;

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes); memory != nullptr) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weft::test {
namespace {

TEST(Allocation, PostingAndPollingTakeNone) {
  Pair p;
  const std::array<Sge, 2> parts{p.a.region.sge(0, 100), p.a.region.sge(200, 100)};
  const std::array<std::byte, 16> bytes{};
  const Sge inbox = p.b.region.sge(0, 400);
  std::array<Completion, 16> done;
  std::uint64_t during = 0;
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t before = allocations;
    must(p.b.qp.post_receive({.id = 1, .local = inbox}));
    must(p.a.qp.post({.id = 2, .local = parts}));
    must(p.a.qp.post({.id = 3, .verb = Verb::write, .local = parts, .remote = p.b.region.remote(1000)}));
    must(p.a.qp.post({.id = 4, .verb = Verb::write, .remote = p.b.region.remote(1000), .inline_data = bytes}));
    must(p.a.qp.post({.id = 5, .verb = Verb::fetch_add, .local = p.a.region.sge(0, 8), .remote = p.b.region.remote()}));
    during += allocations - before;
    EXPECT_TRUE(p.sim.run());
    const std::uint64_t at_poll = allocations;
    EXPECT_EQ(p.a.cq.poll(done), 4U);
    EXPECT_EQ(p.b.cq.poll(done), 1U);
    during += allocations - at_poll;
  }
  EXPECT_EQ(during, 0U);
  EXPECT_GT(allocations, 0U);
}

}  // namespace
}  // namespace weft::test
