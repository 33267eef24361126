// A flat table whose pages come from the system as zeros and take no memory until they are used: a card
// can offer 128 K queue pairs and cost nothing before they exist. An all-zero T must mean "free".
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace weft {

template <class T>
class ZeroedTable {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit ZeroedTable(std::size_t size) : size_(size), memory_(std::calloc(size * sizeof(T) + alignof(T), 1)) {
    if (memory_ == nullptr) throw std::bad_alloc();
    void* at = memory_.get();
    std::size_t space = size * sizeof(T) + alignof(T);
    items_ = static_cast<T*>(std::align(alignof(T), size * sizeof(T), at, space));
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) {
    assert(i < size_);
    return items_[i];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    assert(i < size_);
    return items_[i];
  }
  // The slot that holds `item`, which must be one of ours.
  [[nodiscard]] std::uint32_t slot_of(const T& item) const { return static_cast<std::uint32_t>(&item - items_); }
  // Makes a fresh T in a slot that was free.
  T& make(std::size_t i) { return *new (&(*this)[i]) T(); }
  // Gives the slot its all-zero, free meaning again.
  void erase(std::size_t i) { __builtin_memset(static_cast<void*>(&(*this)[i]), 0, sizeof(T)); }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::size_t size_;
  std::unique_ptr<void, Free> memory_;
  T* items_ = nullptr;
};

}  // namespace weft
