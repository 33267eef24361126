// A conventional card's cache of work entries: each queue's next entries, fetched together and kept on chip until the
// room is needed for another queue. Only which entries are there is kept, not what they say: host
// memory has that. Without room it is not there at all, which is SRNIC's way (nic/work_fetch.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nic/caches/cache_tags.h"
#include "nic/context.h"
#include "nic/formats.h"

namespace weft::nic {

class WorkCache {
 public:
  static constexpr std::uint32_t kWorks = 8;                           // of a queue, at most
  static constexpr std::size_t kWorkBytes = entry_stride<Work>(1, 0);  // work with one element
  static constexpr std::size_t kLineBytes = kWorks * kWorkBytes;

  // `owners` queues, numbered from 0, share `bytes`.
  WorkCache(std::size_t bytes, std::uint32_t owners, const CacheShape& shape = {})
      : cache_tags_(bytes == 0 ? 0 : static_cast<std::uint32_t>(std::max<std::size_t>(bytes / kLineBytes, 1)), shape,
                    bytes == 0 ? 0 : owners),
        lines_(cache_tags_.lines()) {}
  [[nodiscard]] bool enabled() const { return cache_tags_.enabled(); }

  // How many entries of this size are fetched together.
  [[nodiscard]] static constexpr std::uint32_t entries_of(std::size_t stride) {
    return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(kLineBytes / stride), 1, kWorks);
  }
  // Is the entry of this free-running number here? Then its queue has been used.
  [[nodiscard]] bool has(std::uint32_t owner, std::uint32_t number) {
    const std::uint32_t line = cache_tags_.line_of(owner);
    if (line == kNone || number - lines_[line].first >= lines_[line].count) return false;
    cache_tags_.use(line);
    return true;
  }
  // Is it the one behind those that are here? Then a card has asked for it before it was needed.
  [[nodiscard]] bool follows(std::uint32_t owner, std::uint32_t number) const {
    const std::uint32_t line = cache_tags_.line_of(owner);
    return line != kNone && number - lines_[line].first == lines_[line].count;
  }
  // Entries first ... first + count - 1 have been fetched. They take the place of this queue's older ones, or else of
  // another queue's.
  void keep(std::uint32_t owner, std::uint32_t first, std::uint32_t count) {
    std::uint32_t line = cache_tags_.line_of(owner);
    line == kNone ? void(line = cache_tags_.admit(owner).line) : cache_tags_.use(line);
    lines_[line] = {first, count};
  }
  // The queue is gone, or begins anew: its numbers mean other entries from now on.
  void forget(std::uint32_t owner) {
    if (enabled()) cache_tags_.drop(owner);
  }
  [[nodiscard]] std::size_t bytes() const { return lines_.size() * kLineBytes; }

 private:
  struct Line {
    std::uint32_t first = 0, count = 0;
  };
  CacheTags cache_tags_;  // queues
  std::vector<Line> lines_;
};

}  // namespace weft::nic
