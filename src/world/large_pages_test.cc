#include "world/large_pages.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace weft::world {
namespace {

struct Piece {
  void* at;
  std::size_t bytes;
};

std::uintptr_t page_of(const void* at) { return std::bit_cast<std::uintptr_t>(at) / kLargePage; }

TEST(LargePageMemory, WhatIsLargeBeginsWithALargePage) {
  LargePageMemory memory;
  for (const std::size_t bytes : {kLargePage, kLargePage + 1, 5 * kLargePage / 2}) {
    void* at = memory.allocate(bytes, 64);
    EXPECT_EQ(std::bit_cast<std::uintptr_t>(at) % kLargePage, 0U) << bytes;
    std::memset(at, 1, bytes);
    memory.deallocate(at, bytes, 64);
  }
}

TEST(LargePageMemory, WhatIsLessSharesOne) {
  LargePageMemory memory;
  constexpr std::size_t kPiece = LargePageMemory::kShares;
  std::vector<Piece> pieces;
  for (std::size_t bytes = kPiece; bytes < kLargePage; bytes *= 2)
    pieces.push_back({memory.allocate(bytes, 64), bytes});
  for (const Piece& p : pieces) {
    EXPECT_EQ(page_of(p.at), page_of(pieces[0].at)) << p.bytes;
    EXPECT_EQ(page_of(static_cast<std::byte*>(p.at) + p.bytes - 1), page_of(p.at)) << p.bytes;
  }
  void* more = memory.allocate(kLargePage / 2, 64);  // does not fit any more
  EXPECT_NE(page_of(more), page_of(pieces[0].at));
  memory.deallocate(more, kLargePage / 2, 64);
  for (const Piece& p : pieces) memory.deallocate(p.at, p.bytes, 64);
}

// Each piece is filled with a number of its own; a piece that overlaps another, or is gone too early, is found out.
TEST(LargePageMemory, PiecesAreTheirOwnersUntilTheyAreGivenBack) {
  LargePageMemory memory;
  std::vector<Piece> pieces;
  std::uint32_t random = 1;
  for (std::uint32_t step = 0; step < 2000; ++step) {
    random = random * 1664525 + 1013904223;
    if (pieces.size() > 20 || (!pieces.empty() && random >> 30 == 0)) {
      const std::size_t which = (random >> 8) % pieces.size();
      const Piece p = pieces[which];
      const auto* words = static_cast<const std::uintptr_t*>(p.at);
      ASSERT_EQ(words[0], std::bit_cast<std::uintptr_t>(p.at));
      ASSERT_EQ(words[p.bytes / sizeof *words - 1], std::bit_cast<std::uintptr_t>(p.at));
      memory.deallocate(p.at, p.bytes, 4096);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const std::size_t bytes = (std::size_t{4096} << (random >> 28 & 7)) + (random >> 16 & 0xFF8);
      auto* words = static_cast<std::uintptr_t*>(memory.allocate(bytes, 4096));
      ASSERT_EQ(std::bit_cast<std::uintptr_t>(words) % 4096, 0U);
      words[0] = words[bytes / sizeof *words - 1] = std::bit_cast<std::uintptr_t>(words);
      pieces.push_back({words, bytes});
    }
  }
  for (const Piece& p : pieces) memory.deallocate(p.at, p.bytes, 4096);
}

}  // namespace
}  // namespace weft::world
