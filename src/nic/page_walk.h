// An access to a region whose pages have entries in a translation table: each page that it touches is known on chip, or
// its entry is read over the bus.
#pragma once

#include <cassert>
#include <cstdint>

#include "nic/card_state.h"
#include "nic/world.h"

namespace weft::nic {

// Where an access to `length` bytes of this region from `at` on begins, by the table. There is at least one byte.
template <class W>
[[nodiscard]] std::byte* walk_pages(CardState& state, W& world, const Region& region, const std::byte* at,
                                    std::uint64_t length) {
  const std::uint32_t slot = state.memory.slot_of(region);
  const std::uint64_t page_mask = (std::uint64_t{1} << region.page_shift) - 1;
  const std::uint64_t from = (region.base & page_mask) + static_cast<std::uint64_t>(at - region.host);
  const std::uint64_t first = from >> region.page_shift, last = (from + length - 1) >> region.page_shift;
  std::byte* out = nullptr;
  for (std::uint64_t page = first; page <= last; ++page) {
    const TranslationEntry* entry = state.translations.find(slot, page);
    if (entry != nullptr) {
      state.counters.add(Counter::mtt_cache_hits);
      world.touch(OnChip::translation, page);
    } else {
      state.counters.add(Counter::mtt_cache_misses);
      world.read(BusRead::translation, &region.table[page], sizeof(TranslationEntry));
      entry = &state.translations.keep(slot, page, region.table[page]);
    }
    if (page == first) out = entry->page + (from & page_mask);
    // What follows lies behind it: host memory is in one piece as programs see it.
    assert(page == first || entry->page == out + ((page << region.page_shift) - from));
  }
  return out;
}

}  // namespace weft::nic
