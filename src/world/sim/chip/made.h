// What the card has made itself: entries of send queues for the answers of kernels, until something else is in their
// place, and the answers, until they are sent. It still has them on chip, so they need not be read. Pointers are
// compared and nothing else, so runs repeat wherever memory lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace weft::sim {

class Made {
 public:
  void add(const void* at, std::size_t bytes) {
    (void)take(at, bytes);  // whoever never sent what was there before
    const auto* begin = static_cast<const std::byte*>(at);
    ranges_.push_back({begin, begin + bytes});
  }
  // How many of these bytes are here.
  [[nodiscard]] std::size_t has(const void* at, std::size_t bytes) const {
    const auto* from = static_cast<const std::byte*>(at);
    const std::less<const std::byte*> before;
    std::size_t here = 0;
    for (const Range& range : ranges_) {
      const auto* begin = std::max(range.begin, from, before);
      const auto* end = std::min(range.end, from + bytes, before);
      if (before(begin, end)) here += static_cast<std::size_t>(end - begin);
    }
    return here;
  }
  // The same, and they are here no longer.
  std::size_t take(const void* at, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(at);
    const auto* to = from + bytes;
    const std::less<const std::byte*> before;
    std::size_t taken = 0;
    for (std::size_t i = ranges_.size(); i-- > 0;) {
      const Range range = ranges_[i];
      const auto* begin = std::max(range.begin, from, before);
      const auto* end = std::min(range.end, to, before);
      if (!before(begin, end)) continue;
      taken += static_cast<std::size_t>(end - begin);
      ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
      if (before(range.begin, begin)) ranges_.push_back({range.begin, begin});
      if (before(end, range.end)) ranges_.push_back({end, range.end});
    }
    return taken;
  }

 private:
  struct Range {
    const std::byte *begin, *end;
  };
  std::vector<Range> ranges_;
};

}  // namespace weft::sim
