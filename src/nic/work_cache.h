// A conventional card's cache of work entries: each queue's next entries, fetched together and kept on chip until the
// room is needed for a queue that was used more recently. Only which entries are there is kept, not what they say: host
// memory has that. Without room it is not there at all, which is SRNIC's way (nic/work_fetch.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "nic/context.h"
#include "nic/formats.h"

namespace weft::nic {

class WorkCache {
 public:
  static constexpr std::uint32_t kWorks = 8;                           // of a queue, at most
  static constexpr std::size_t kWorkBytes = entry_stride<Work>(1, 0);  // work with one element
  static constexpr std::size_t kLineBytes = kWorks * kWorkBytes;

  // `owners` queues, numbered from 0, share `bytes`.
  WorkCache(std::size_t bytes, std::uint32_t owners) {
    if (bytes == 0) return;
    lines_.resize(std::max<std::size_t>(bytes / kLineBytes, 1));
    line_of_.assign(owners, kNone);
    for (std::uint32_t i = 0; i < lines_.size(); ++i) join_youngest(i);
  }
  [[nodiscard]] bool enabled() const { return !lines_.empty(); }

  // How many entries of this size are fetched together.
  [[nodiscard]] static constexpr std::uint32_t entries_of(std::size_t stride) {
    return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(kLineBytes / stride), 1, kWorks);
  }
  // Is the entry of this free-running number here? Then its queue is the most recently used.
  [[nodiscard]] bool has(std::uint32_t owner, std::uint32_t number) {
    const std::uint32_t line = line_of_[owner];
    if (line == kNone || number - lines_[line].first >= lines_[line].count) return false;
    leave(line);
    join_youngest(line);
    return true;
  }
  // Is it the one behind those that are here? Then a card has asked for it before it was needed.
  [[nodiscard]] bool follows(std::uint32_t owner, std::uint32_t number) const {
    const std::uint32_t line = line_of_[owner];
    return line != kNone && number - lines_[line].first == lines_[line].count;
  }
  // Entries first ... first + count - 1 have been fetched. They take the place of this queue's older ones, or else of
  // those of the queue that was not used for longest.
  void keep(std::uint32_t owner, std::uint32_t first, std::uint32_t count) {
    std::uint32_t line = line_of_[owner];
    if (line == kNone) {
      line = oldest_;
      if (lines_[line].count > 0) line_of_[lines_[line].owner] = kNone;
      line_of_[owner] = line;
    }
    lines_[line].owner = owner;
    lines_[line].first = first;
    lines_[line].count = count;
    leave(line);
    join_youngest(line);
  }
  // The queue is gone, or begins anew: its numbers mean other entries from now on.
  void forget(std::uint32_t owner) {
    if (!enabled() || line_of_[owner] == kNone) return;
    lines_[line_of_[owner]].count = 0;
    line_of_[owner] = kNone;
  }
  [[nodiscard]] std::size_t bytes() const { return lines_.size() * kLineBytes; }

 private:
  struct Line {
    std::uint32_t owner = 0, first = 0, count = 0;  // count 0: empty
    std::uint32_t older = kNone, younger = kNone;
  };
  void leave(std::uint32_t line) {
    const Line& l = lines_[line];
    (l.older != kNone ? lines_[l.older].younger : oldest_) = l.younger;
    (l.younger != kNone ? lines_[l.younger].older : youngest_) = l.older;
  }
  void join_youngest(std::uint32_t line) {
    lines_[line].older = youngest_;
    lines_[line].younger = kNone;
    (youngest_ != kNone ? lines_[youngest_].younger : oldest_) = line;
    youngest_ = line;
  }

  std::vector<Line> lines_;
  std::vector<std::uint32_t> line_of_;  // of each owner
  std::uint32_t oldest_ = kNone, youngest_ = kNone;
};

}  // namespace weft::nic
