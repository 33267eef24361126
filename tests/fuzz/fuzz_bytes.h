// A fuzzer's input as a row of choices, and the way in which a target says that something does not hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace weft::fuzz {

// Takes as many bytes as the choice needs. When there are none left, every choice is the first.
class FuzzBytes {
 public:
  FuzzBytes(const unsigned char* data, std::size_t size) : bytes_(data, size) {}

  // 0 ... below - 1
  std::uint64_t next(std::uint64_t below) {
    std::uint64_t value = 0;
    for (std::uint64_t span = below - 1; span > 0 && !bytes_.empty(); span >>= 8, bytes_ = bytes_.subspan(1)) {
      value = value << 8 | bytes_[0];
    }
    return value % below;
  }
  bool one_in(std::uint64_t n) { return next(n) == 0; }
  template <class Number>
  Number number() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value = value << 8 | next(256);
    return static_cast<Number>(value);
  }
  // As many as there are, if there are not so many.
  std::span<const std::byte> take(std::size_t most) {
    const auto taken = bytes_.first(std::min(most, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return std::as_bytes(taken);
  }
  [[nodiscard]] bool over() const { return bytes_.empty(); }

 private:
  std::span<const unsigned char> bytes_;
};

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace weft::fuzz
