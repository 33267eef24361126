// A card with thousands of connections touches another context, another ring and so other pages with every packet.
// Large pages keep the machine from walking its page tables each time. Only advice: without them everything works, a
// little slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory_resource>
#include <new>
#include <span>

#include <sys/mman.h>

namespace weft::world {

inline constexpr std::size_t kLargePage = 2U << 20;

inline void advise_large_pages(std::span<std::byte> table) {
  if (table.size() >= kLargePage) (void)madvise(table.data(), table.size() / kLargePage * kLargePage, MADV_HUGEPAGE);
}

// For pools. What is large begins with a large page; pieces that are not share one, because a page is taken whole. Who
// has few connections gets small pieces as they always are. Not for two threads at once.
class LargePageMemory final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t kShares = kLargePage / 16;  // pieces from this size on share a large page

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < kShares || alignment > kLargePage) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    if (bytes >= kLargePage) return pages(bytes);
    std::size_t at = (used_ + alignment - 1) / alignment * alignment;
    if (open_ == nullptr || at + bytes > kLargePage) {
      std::byte* page = pages(kLargePage);
      try {
        pieces_[page] = 0;
      } catch (...) {
        std::free(page);
        throw;
      }
      open_ = page;
      at = 0;
    }
    used_ = at + bytes;
    ++pieces_[open_];
    return open_ + at;
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    if (bytes < kShares || alignment > kLargePage) {
      return std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
    }
    if (bytes >= kLargePage) return std::free(at);
    const auto page = --pieces_.upper_bound(static_cast<std::byte*>(at));
    if (--page->second > 0) return;
    if (page->first == open_) open_ = nullptr;
    std::free(page->first);
    pieces_.erase(page);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  static std::byte* pages(std::size_t bytes) {
    auto* at =
        static_cast<std::byte*>(std::aligned_alloc(kLargePage, (bytes + kLargePage - 1) / kLargePage * kLargePage));
    if (at == nullptr) throw std::bad_alloc();
    advise_large_pages({at, bytes + kLargePage / 2});  // a last one that would be half empty is not worth it
    return at;
  }

  std::byte* open_ = nullptr;                   // the page that the next piece may share
  std::size_t used_ = 0;                        // of it
  std::map<std::byte*, std::uint32_t> pieces_;  // of each page that is shared
};

}  // namespace weft::world
