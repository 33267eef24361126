// Which of many numbered things are on chip, and which one makes room for a new one: a cache, as far as its shape goes.
// What they hold is not here. A thing has a line while it is here.
#pragma once

#include <cstdint>
#include <vector>

#include "nic/context.h"

namespace weft::nic {

enum class Replacement : std::uint8_t { lru, random };

struct CacheShape {
  std::uint32_t ways = 0;  // lines that a thing may have; 0: any
  Replacement replacement = Replacement::lru;
};

class CacheTags {
 public:
  // Things are numbered 0 ... things - 1; `lines` of them can be here. Chance follows from the seed.
  CacheTags(std::uint32_t lines, const CacheShape& shape, std::uint32_t things, std::uint64_t seed = 1)
      : ways_(shape.ways == 0 || shape.ways > lines ? lines : shape.ways),
        sets_(lines == 0 ? 0 : lines / ways_),
        random_replacement_(shape.replacement == Replacement::random),
        chance_(seed * 2 + 1) {
    if (!enabled()) return;
    line_of_.assign(things, kNone);
    lines_.resize(std::size_t{sets_} * ways_);
    ends_.resize(sets_);
    for (std::uint32_t i = 0; i < lines_.size(); ++i) join_youngest(i);
  }

  [[nodiscard]] bool enabled() const { return sets_ != 0; }
  [[nodiscard]] std::uint32_t lines() const { return static_cast<std::uint32_t>(lines_.size()); }

  // kNone: it is not here.
  [[nodiscard]] std::uint32_t line_of(std::uint32_t thing) const { return line_of_[thing]; }
  // Its line has been used.
  void use(std::uint32_t line) {
    if (!random_replacement_) make_youngest(line);
  }

  struct Admitted {
    std::uint32_t line;
    bool evicts;
  };
  // The thing was not here, and is now.
  Admitted admit(std::uint32_t thing) {
    const std::uint32_t set = thing % sets_;
    std::uint32_t line = ends_[set].oldest;  // an empty one, if there is one
    const bool full = lines_[line].thing != kNone;
    if (full && random_replacement_) line = set * ways_ + draw();
    if (full) line_of_[lines_[line].thing] = kNone;
    lines_[line].thing = thing;
    line_of_[thing] = line;
    make_youngest(line);
    return {line, full};
  }
  // The thing need not be here any longer.
  void drop(std::uint32_t thing) {
    const std::uint32_t line = line_of_[thing];
    if (line == kNone) return;
    lines_[line].thing = kNone;
    line_of_[thing] = kNone;
    leave(line);
    join_oldest(line);
  }

  enum class Found : std::uint8_t { hit, miss, miss_and_eviction };
  // The thing is used: from now on it is here.
  Found touch(std::uint32_t thing) {
    if (const std::uint32_t line = line_of_[thing]; line != kNone) {
      ++hits;
      use(line);
      return Found::hit;
    }
    ++misses;
    return admit(thing).evicts ? Found::miss_and_eviction : Found::miss;
  }
  std::uint64_t hits = 0, misses = 0;  // of touch()

 private:
  struct Line {
    std::uint32_t thing = kNone;
    std::uint32_t older = kNone, younger = kNone;  // of its set, by last use; empty ones are the oldest
  };
  struct Ends {
    std::uint32_t oldest = kNone, youngest = kNone;
  };
  std::uint32_t draw() {
    chance_ = chance_ * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    return static_cast<std::uint32_t>((chance_ >> 33) * ways_ >> 31);
  }
  void make_youngest(std::uint32_t line) {
    if (ends_[line / ways_].youngest == line) return;
    leave(line);
    join_youngest(line);
  }
  void leave(std::uint32_t line) {
    const Line& l = lines_[line];
    Ends& ends = ends_[line / ways_];
    (l.older != kNone ? lines_[l.older].younger : ends.oldest) = l.younger;
    (l.younger != kNone ? lines_[l.younger].older : ends.youngest) = l.older;
  }
  void join_youngest(std::uint32_t line) {
    Ends& ends = ends_[line / ways_];
    lines_[line].older = ends.youngest;
    lines_[line].younger = kNone;
    (ends.youngest != kNone ? lines_[ends.youngest].younger : ends.oldest) = line;
    ends.youngest = line;
  }
  void join_oldest(std::uint32_t line) {
    Ends& ends = ends_[line / ways_];
    lines_[line].younger = ends.oldest;
    lines_[line].older = kNone;
    (ends.oldest != kNone ? lines_[ends.oldest].older : ends.youngest) = line;
    ends.oldest = line;
  }

  std::uint32_t ways_, sets_;
  bool random_replacement_;
  std::uint64_t chance_;
  std::vector<std::uint32_t> line_of_;
  std::vector<Line> lines_;
  std::vector<Ends> ends_;
};

}  // namespace weft::nic
