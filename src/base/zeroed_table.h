// A flat table whose pages come from the system as zeros and take no memory until they are used: a card
// can offer 128 K queue pairs and cost nothing before they exist. An all-zero T must mean "free".
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace weft {

template <class T>
class ZeroedTable {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit ZeroedTable(std::size_t size) : size_(size) {
    const std::size_t bytes = size * sizeof(T);
    // A large table begins where a large page can, should its world ask the system for some.
    const std::size_t alignment = bytes >= kLargePage ? kLargePage : alignof(T);
    std::size_t space = bytes + alignment;
    memory_.reset(std::calloc(space, 1));
    if (memory_ == nullptr) throw std::bad_alloc();
    void* at = memory_.get();
    items_ = static_cast<T*>(std::align(alignment, bytes, at, space));
  }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(items_, size_)); }
  [[nodiscard]] std::size_t size() const { return size_; }
  // On the packet path, and not checked: slots come from masked numbers or from the table itself.
  [[nodiscard]] T& operator[](std::size_t i) { return items_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return items_[i]; }
  // The slot that holds `item`, which must be one of ours.
  [[nodiscard]] std::uint32_t slot_of(const T& item) const { return static_cast<std::uint32_t>(&item - items_); }
  // Makes a fresh T in a slot that was free.
  T& make(std::size_t i) {
    assert(i < size_);
    return *new (&items_[i]) T();
  }
  // Gives the slot its all-zero, free meaning again.
  void erase(std::size_t i) {
    assert(i < size_);
    __builtin_memset(static_cast<void*>(&items_[i]), 0, sizeof(T));
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static constexpr std::size_t kLargePage = 2U << 20;

  std::size_t size_;
  std::unique_ptr<void, Free> memory_;
  T* items_ = nullptr;
};

}  // namespace weft
