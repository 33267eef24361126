// A vector with room for N and no heap: running out is the caller's named refusal, never an allocation.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>

namespace weft {

template <class T, std::size_t N>
class FixedVector {
 public:
  [[nodiscard]] constexpr bool try_push(const T& value) {
    if (size_ == N) return false;
    items_[size_++] = value;
    return true;
  }
  constexpr void clear() { size_ = 0; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr const T* data() const { return items_.data(); }
  [[nodiscard]] constexpr const T* begin() const { return items_.data(); }
  [[nodiscard]] constexpr const T* end() const { return items_.data() + size_; }
  [[nodiscard]] constexpr const T& operator[](std::size_t i) const {
    assert(i < size_);
    return items_[i];
  }

 private:
  std::array<T, N> items_;
  std::size_t size_ = 0;
};

}  // namespace weft
