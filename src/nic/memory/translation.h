// Where the pages of regions lie: SRNIC's memory translation table. The table is in host memory, one entry for a page;
// the card keeps those that it used last in a cache of fixed size. A device without such a cache has no table either:
// a region's memory is in one piece here, and its first byte tells where all of it is (nic/memory/memory.h).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/zeroed_table.h"
#include "nic/caches/cache_tags.h"

namespace weft::nic {

struct TranslationEntry {
  std::byte* page = nullptr;
};
static_assert(sizeof(TranslationEntry) == 8, "SRNIC's entry");

inline constexpr std::uint64_t kSmallestPage = 4096, kLargestPage = 1U << 30;

[[nodiscard]] constexpr bool is_page_size(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kSmallestPage && bytes <= kLargestPage;
}
// How many pages hold `length` bytes from this address on.
[[nodiscard]] constexpr std::uint64_t pages_of(std::uint64_t address, std::uint64_t length, std::uint8_t page_shift) {
  const std::uint64_t into_page = address & ((std::uint64_t{1} << page_shift) - 1);
  return length == 0 ? 0 : ((into_page + (length - 1)) >> page_shift) + 1;
}
[[nodiscard]] constexpr std::uint64_t table_bytes(std::uint64_t length, std::uint64_t page_bytes) {
  return (length + page_bytes - 1) / page_bytes * sizeof(TranslationEntry);
}

// Set associative. The ways of a set stand in the order of their last use, so the last one is the one to give up,
// unless chance decides.
class TranslationCache {
 public:
  static constexpr std::uint32_t kWays = 8;     // unless its shape says otherwise
  static constexpr std::size_t kWayBytes = 16;  // an entry of the table, and which page it is of

  explicit TranslationCache(std::size_t bytes, const CacheShape& shape = {})
      : ways_(shape.ways == 0 ? kWays : shape.ways),
        sets_(bytes == 0 ? 0 : std::max<std::size_t>(bytes / (ways_ * kWayBytes), 1)),
        random_replacement_(shape.replacement == Replacement::random),
        table_(sets_ * ways_) {}

  [[nodiscard]] bool enabled() const { return sets_ != 0; }
  [[nodiscard]] std::size_t entries() const { return sets_ * ways_; }
  [[nodiscard]] std::size_t bytes() const { return entries() * kWayBytes; }

  // Where page `page` of the region in this slot lies; nullptr if it is not known here.
  [[nodiscard]] const TranslationEntry* find(std::uint32_t slot, std::uint64_t page) {
    const std::uint64_t tag = tag_of(slot, page);
    const std::span<Way> set = set_of(slot, page);
    for (std::size_t way = 0; way < set.size(); ++way) {
      if (set[way].tag != tag) continue;
      if (random_replacement_) return &set[way].entry;
      std::rotate(set.begin(), set.begin() + way, set.begin() + way + 1);
      return &set[0].entry;
    }
    return nullptr;
  }
  const TranslationEntry& keep(std::uint32_t slot, std::uint64_t page, TranslationEntry entry) {
    const std::span<Way> set = set_of(slot, page);
    if (random_replacement_ && set.back().tag != 0) {
      Way& way = set[draw()];
      way = {tag_of(slot, page), entry};
      return way.entry;
    }
    std::rotate(set.begin(), set.end() - 1, set.end());
    set[0] = {tag_of(slot, page), entry};
    return set[0].entry;
  }
  // The region in this slot is gone, or lies elsewhere.
  void forget(std::uint32_t slot, std::uint64_t pages) {
    if (pages < sets_) {
      for (std::uint64_t page = 0; page < pages; ++page) forget_in(set_of(slot, page), slot);
    } else {
      for (std::size_t i = 0; i < sets_; ++i) forget_in(set_at(i), slot);
    }
  }

 private:
  struct Way {
    std::uint64_t tag = 0;  // 0: empty; no region is in slot 0
    TranslationEntry entry{};
  };
  static_assert(sizeof(Way) == kWayBytes);
  static constexpr int kPageBits = 40;  // of a tag; 2^40 pages of 4 KB are the whole of a 52-bit space

  static std::uint64_t tag_of(std::uint32_t slot, std::uint64_t page) {
    return std::uint64_t{slot} << kPageBits | page;
  }
  [[nodiscard]] std::span<Way> set_at(std::size_t index) { return {&table_[index * ways_], ways_}; }
  // Neighbouring pages are in neighbouring sets, and regions begin at places that have nothing to do with each other.
  // From numbers alone and never from addresses, so that a run in the simulated world repeats.
  [[nodiscard]] std::span<Way> set_of(std::uint32_t slot, std::uint64_t page) {
    return set_at((page + (std::uint64_t{slot} * 0x9E37'79B9'7F4A'7C15 >> 32)) % sets_);
  }
  static void forget_in(std::span<Way> set, std::uint32_t slot) {
    const auto gone = [slot](const Way& way) { return way.tag >> kPageBits == slot; };
    const auto end = std::remove_if(set.begin(), set.end(), gone);  // empty ones stand last
    std::fill(end, set.end(), Way{});
  }
  std::size_t draw() {
    chance_ = chance_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    return (chance_ >> 33) % ways_;
  }

  std::size_t ways_, sets_;
  bool random_replacement_;
  std::uint64_t chance_ = 1;
  ZeroedTable<Way> table_;
};

}  // namespace weft::nic
