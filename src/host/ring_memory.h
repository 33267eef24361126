// Memory of one ring. Rings of a device come from one pool, those of a size side by side: with thousands of queue pairs
// they then lie on few pages, and posting to the next one seldom waits for a page table.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <utility>

namespace weft::host {

class RingMemory {
 public:
  RingMemory() = default;
  RingMemory(std::pmr::memory_resource& pool, std::size_t bytes)
      : pool_(&pool), bytes_(bytes), data_(static_cast<std::byte*>(pool.allocate(bytes, kAlignment))) {
    std::memset(data_, 0, bytes);
  }
  RingMemory(RingMemory&& other) noexcept
      : pool_(other.pool_), bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  RingMemory& operator=(RingMemory&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(bytes_, other.bytes_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~RingMemory() {
    if (data_ != nullptr) pool_->deallocate(data_, bytes_, kAlignment);
  }
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 64;  // work with one element is one cache line

  std::pmr::memory_resource* pool_ = nullptr;
  std::size_t bytes_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace weft::host
