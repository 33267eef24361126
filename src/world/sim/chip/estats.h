// Where an operation's time goes, by the measuring points of Azure's RDMA Estats: T1 the program posts it, T2 its work
// entry is on the card, T3 its last packet has left, T4 the peer's answer is here, T5 the card generates its
// completion, T6 the program has polled it. Of some queue pairs only: to note all would cost more than to simulate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weft::sim {

class Estats {
 public:
  static constexpr std::size_t kPoints = 6;
  using Stamps = std::array<Time, kPoints>;

  // `entries`, a power of two, is the size of its send queue.
  void watch(std::uint32_t slot, std::uint32_t entries) {
    if (watched_.size() <= slot) watched_.resize(slot + 1);
    watched_[slot].resize(entries);
  }
  [[nodiscard]] bool watches(std::uint32_t slot) const { return slot < watched_.size() && !watched_[slot].empty(); }

  // Point `point` (0 is T1) of the entries `from` up to, not including, `to` of a watched queue.
  void note(std::uint32_t slot, std::uint32_t from, std::uint32_t to, std::size_t point, Time when) {
    for (std::uint32_t i = from; i != to; ++i) at(slot, i)[point] = when;
  }
  // T6: it is over.
  void end(std::uint32_t slot, std::uint32_t entry, Time when) {
    Stamps& s = at(slot, entry);
    s[kPoints - 1] = when;
    if (counting) ended_.push_back(s);
  }

  bool counting = false;
  [[nodiscard]] const std::vector<Stamps>& ended() const { return ended_; }

 private:
  Stamps& at(std::uint32_t slot, std::uint32_t entry) { return watched_[slot][entry & (watched_[slot].size() - 1)]; }
  std::vector<std::vector<Stamps>> watched_;  // by slot
  std::vector<Stamps> ended_;
};

}  // namespace weft::sim
