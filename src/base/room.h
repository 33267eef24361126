// Room for a few values on the stack that is not written to before it is used.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace weft {

template <class T, std::size_t Size>
class Room {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Room() {}  // NOLINT(modernize-use-equals-default): a defaulted one would be deleted
  static constexpr std::size_t size() { return Size; }
  T& operator[](std::size_t i) { return items_[i]; }
  void set(std::size_t i, const T& value) { std::construct_at(&items_[i], value); }
  [[nodiscard]] std::span<T> first(std::size_t count) { return {items_, count}; }

 private:
  union {
    T items_[Size];
  };
};

}  // namespace weft
