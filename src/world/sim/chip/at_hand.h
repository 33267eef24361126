// What the chip has read while it deals with one packet, turn or doorbell: it has that in registers, and does not read
// it twice. Pointers are compared and nothing else, so runs repeat wherever memory lies.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

namespace weft::sim {

class AtHand {
 public:
  static constexpr std::size_t kRanges = 16;  // of more, the oldest are forgotten

  void clear() { count_ = 0; }
  // These bytes are at hand from now on. False: they were before.
  [[nodiscard]] bool take(const void* from, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(from);
    const auto* end = begin + bytes;
    const std::less_equal<const std::byte*> not_behind;
    for (std::size_t i = 0; i < count_ && i < kRanges; ++i) {
      if (not_behind(ranges_[i].begin, begin) && not_behind(end, ranges_[i].end)) return false;
    }
    ranges_[count_++ % kRanges] = {begin, end};
    return true;
  }

 private:
  struct Range {
    const std::byte *begin = nullptr, *end = nullptr;
  };
  std::array<Range, kRanges> ranges_{};
  std::size_t count_ = 0;
};

}  // namespace weft::sim
