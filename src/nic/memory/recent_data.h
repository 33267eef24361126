// Which RDs a stateless card has placed of late. A copy that the network made of one, or that somebody who saw it plays
// again, is answered as the first was, and writes nothing: what it brings may be old by now. This is a table of one
// size for all of the card, however many connections it serves, and it forgets: an RD when it has expired, and the one
// that expires first when there is no room.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/prefetch.h"
#include "base/time.h"
#include "base/zeroed_table.h"
#include "wire/star.h"

namespace weft::nic {

class RecentData {
 public:
  // No card sends so much within this time that a connection's packets have the same numbers again.
  static constexpr Time kLongest = 100'000'000;  // nanoseconds

  // `entries`: a power of two, kWays at least.
  RecentData(std::uint32_t entries, Time nanosecond) : placed_(entries), longest_(kLongest * nanosecond) {}

  // What tells an RD from every other one: its holder, its number, and which of the connections that have had the
  // holder's number it is of.
  struct Name {
    wire::Address source{};
    std::uint64_t numbers = 0;
    Name(const wire::Address& from, const wire::Bth& h, std::uint16_t incarnation)
        : source(from),
          numbers(std::uint64_t{h.destination.raw()} << 40 | std::uint64_t{h.psn.raw()} << 16 | incarnation) {}
  };
  // One with this name has come, and is to be checked first.
  void expect(const Name& n) const {
    prefetch(&placed_[set_of(n)]);
    prefetch(&placed_[set_of(n) + 2]);
  }
  [[nodiscard]] bool has(const Name& n, Time now) const {
    const std::size_t first = set_of(n);
    for (std::size_t i = first; i < first + kWays; ++i) {
      const Placed& p = placed_[i];
      if (p.numbers == n.numbers && p.until > now && p.source == n.source) return true;
    }
    return false;
  }
  // It has been placed, and is good until then. True: another one was forgotten for it that was good still.
  bool keep(const Name& n, Time now, Time until) {
    const std::size_t first = set_of(n);
    std::size_t at = first;
    for (std::size_t i = first + 1; i < first + kWays; ++i) {
      if (placed_[i].until < placed_[at].until) at = i;
    }
    const bool early = placed_[at].until > now;
    placed_[at] = {n.source, n.numbers, until < now + longest_ ? until : now + longest_};
    return early;
  }
  [[nodiscard]] std::size_t bytes() const { return placed_.size() * sizeof(Placed); }

 private:
  static constexpr std::size_t kWays = 4;
  struct Placed {
    wire::Address source{};
    std::uint64_t numbers = 0;
    Time until = 0;
  };
  static_assert(sizeof(Placed) == 32, "a set is two cache lines");

  // A connection's packets stand in sets that follow each other; connections begin anywhere.
  [[nodiscard]] std::size_t set_of(const Name& n) const {
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(n.source.bytes);
    const std::uint64_t holder = (n.numbers >> 40 ^ words[0] ^ words[1]) * 0x9E37'79B9'7F4A'7C15;
    return (static_cast<std::size_t>(holder >> 32) + static_cast<std::size_t>(n.numbers >> 16)) * kWays &
           (placed_.size() - 1);
  }

  ZeroedTable<Placed> placed_;
  Time longest_;
};

}  // namespace weft::nic
