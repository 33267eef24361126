// A card with thousands of connections touches another context, and so another page, with every packet. Large pages
// keep the machine from walking its page tables each time. Only advice: without them everything works, a little slower.
#pragma once

#include <cstddef>
#include <span>

#include <sys/mman.h>

namespace weft::world {

inline void advise_large_pages(std::span<std::byte> table) {
  constexpr std::size_t kLargePage = 2U << 20;
  if (table.size() >= kLargePage) (void)madvise(table.data(), table.size() / kLargePage * kLargePage, MADV_HUGEPAGE);
}

}  // namespace weft::world
