// A cache of a card, as far as time goes: which of many numbered things are on chip, and which one makes room for a new
// one. What they hold is not here.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/context.h"
#include "world/random.h"
#include "world/sim/chip/spec.h"

namespace weft::sim {

class OnChipCache {
 public:
  // Things are numbered 0 ... things - 1.
  OnChipCache(const CacheSpec& spec, std::uint32_t things, std::uint64_t seed)
      : ways_(spec.ways == 0 ? spec.entries : spec.ways),
        sets_(spec.entries == 0 ? 0 : spec.entries / ways_),
        random_replacement_(spec.replacement == Replacement::random),
        random_(seed) {
    if (!enabled()) return;
    line_of_.assign(things, nic::kNone);
    lines_.resize(std::size_t{sets_} * ways_);
    ends_.resize(sets_);
    for (std::uint32_t i = 0; i < lines_.size(); ++i) join_youngest(i);
  }

  [[nodiscard]] bool enabled() const { return sets_ != 0; }

  enum class Found : std::uint8_t { hit, miss, miss_and_eviction };
  // From now on it is here.
  Found touch(std::uint32_t thing) {
    std::uint32_t line = line_of_[thing];
    if (line != nic::kNone) {
      ++hits;
      if (!random_replacement_) make_youngest(line);
      return Found::hit;
    }
    ++misses;
    const std::uint32_t set = thing % sets_;
    line = ends_[set].oldest;
    const bool full = lines_[line].thing != nic::kNone;
    if (full && random_replacement_) line = set * ways_ + static_cast<std::uint32_t>(random_.below(ways_));
    if (full) line_of_[lines_[line].thing] = nic::kNone;
    lines_[line].thing = thing;
    line_of_[thing] = line;
    make_youngest(line);
    return full ? Found::miss_and_eviction : Found::miss;
  }

  std::uint64_t hits = 0, misses = 0;

 private:
  struct Line {
    std::uint32_t thing = nic::kNone;
    std::uint32_t older = nic::kNone, younger = nic::kNone;  // of its set, by last use
  };
  struct Ends {
    std::uint32_t oldest = nic::kNone, youngest = nic::kNone;
  };
  void make_youngest(std::uint32_t line) {
    const Line& l = lines_[line];
    Ends& ends = ends_[line / ways_];
    if (ends.youngest == line) return;
    (l.older != nic::kNone ? lines_[l.older].younger : ends.oldest) = l.younger;
    lines_[l.younger].older = l.older;
    join_youngest(line);
  }
  void join_youngest(std::uint32_t line) {
    Ends& ends = ends_[line / ways_];
    lines_[line].older = ends.youngest;
    lines_[line].younger = nic::kNone;
    (ends.youngest != nic::kNone ? lines_[ends.youngest].younger : ends.oldest) = line;
    ends.youngest = line;
  }

  std::uint32_t ways_, sets_;
  bool random_replacement_;
  world::Random random_;
  std::vector<std::uint32_t> line_of_;
  std::vector<Line> lines_;
  std::vector<Ends> ends_;
};

}  // namespace weft::sim
