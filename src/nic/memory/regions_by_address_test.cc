// Regions that are found by an address alone, beside a search that looks at each of them.
#include "nic/memory/regions_by_address.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "nic/memory/memory.h"

namespace weft::nic {
namespace {

struct Listed {
  std::uint64_t base, length;
  std::uint32_t slot;
  [[nodiscard]] bool has(std::uint64_t address, std::uint64_t bytes) const {
    return address >= base && address - base + bytes <= length;
  }
};

TEST(RegionsByAddress, FindsOneThatHasAllBytesWheneverThereIsOne) {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 50; ++round) {
    RegionsByAddress regions;
    std::vector<Listed> listed;
    for (std::uint32_t step = 0; step < 200; ++step) {
      if (listed.empty() || below(3) != 0) {
        const Listed l{below(500), 1 + below(step % 10 == 0 ? 400 : 20), step};
        regions.add(l.base, l.length, l.slot);
        listed.push_back(l);
      } else {
        const auto gone = listed.begin() + below(static_cast<std::uint32_t>(listed.size()));
        regions.remove(gone->base, gone->slot);
        listed.erase(gone);
      }
      const std::uint64_t address = below(600), bytes = 1 + below(40);
      const auto found = regions.find(address, bytes);
      const auto has = [&](const Listed& l) { return l.has(address, bytes); };
      ASSERT_EQ(found.has_value(), std::any_of(listed.begin(), listed.end(), has));
      const auto is_found = [&](const Listed& l) { return l.slot == *found && has(l); };
      if (found) {
        ASSERT_TRUE(std::any_of(listed.begin(), listed.end(), is_found));
      }
    }
  }
}

TEST(RegionsByAddress, ARegionAtTheTopOfTheSpaceDoesNotWrap) {
  RegionsByAddress regions;
  regions.add(UINT64_MAX - 9, 10, 3);
  EXPECT_EQ(regions.find(UINT64_MAX - 9, 10), 3U);
  EXPECT_FALSE(regions.find(UINT64_MAX - 9, 11));
  EXPECT_FALSE(regions.find(UINT64_MAX - 10, 1));
  EXPECT_FALSE(regions.find(0, 1));
}

// Each packet to a card that trusts used to look at every slot of the gate: with many slots it took milliseconds, and
// the peers' timeouts ran out. Here it would take minutes.
TEST(RegionsByAddress, TheGateDoesNotLookAtAllItsSlotsForAPacket) {
  MemoryGate gate(20, true);
  std::vector<std::byte> memory(64);
  Region* region = gate.add_region(1, memory.data(), 4096, 64, Rights::local_write, UINT64_MAX << 32);
  ASSERT_NE(region, nullptr);
  for (int packet = 0; packet < 1'000'000; ++packet) ASSERT_EQ(gate.find_covering(8192, 8, false), nullptr);
  EXPECT_EQ(gate.find_covering(4096, 64, true), region);
}

TEST(RegionsByAddress, BytesThatAreToBeWrittenAreInARegionThatMayBe) {
  MemoryGate gate(8, true);
  std::vector<std::byte> memory(8192);
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_NE(gate.add_region(1, memory.data(), 4096, 8192, Rights::remote_read, i << 32 | i), nullptr);
  }
  EXPECT_EQ(gate.find_covering(5000, 8, true), nullptr);
  Region* writable = gate.add_region(1, memory.data(), 4096, 4096, Rights::local_write, 99);
  EXPECT_EQ(gate.find_covering(5000, 8, true), writable);
  gate.move(*writable, memory.data(), 20'000, 100);
  EXPECT_EQ(gate.find_covering(5000, 8, true), nullptr);
  EXPECT_EQ(gate.find_covering(20'000, 100, true), writable);
  gate.set_rights(*writable, Rights::remote_read);
  EXPECT_EQ(gate.find_covering(20'000, 100, true), nullptr);
  EXPECT_EQ(gate.find_covering(20'000, 100, false), writable);
  gate.remove(*writable);
  EXPECT_EQ(gate.find_covering(20'000, 100, false), nullptr);
}

}  // namespace
}  // namespace weft::nic
