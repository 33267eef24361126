// A card with thousands of connections touches another context, another ring and so other pages with every packet.
// Large pages keep the machine from walking its page tables each time. Only advice: without them everything works, a
// little slower.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory_resource>
#include <new>
#include <span>

#include <sys/mman.h>

namespace weft::world {

inline constexpr std::size_t kLargePage = 2U << 20;

inline void advise_large_pages(std::span<std::byte> table) {
  if (table.size() >= kLargePage) (void)madvise(table.data(), table.size() / kLargePage * kLargePage, MADV_HUGEPAGE);
}

// For pools: what they take in large pieces begins with a large page. Small pieces are as they always are.
class LargePageMemory final : public std::pmr::memory_resource {
 public:
  static LargePageMemory* instance() {
    static LargePageMemory one;
    return &one;
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < kLargePage || alignment > kLargePage)
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    void* at = std::aligned_alloc(kLargePage, (bytes + kLargePage - 1) / kLargePage * kLargePage);
    if (at == nullptr) throw std::bad_alloc();
    advise_large_pages({static_cast<std::byte*>(at), bytes});
    return at;
  }
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
    if (bytes < kLargePage || alignment > kLargePage) {
      return std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
    }
    std::free(at);
  }
  [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace weft::world
