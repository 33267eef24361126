// Which region has these bytes, whatever its key: a card that trusts its peers (CardConfig::star_trust) gets packets
// that name an address alone. Regions may overlap. A search takes the logarithm of their number; a change moves those
// behind it, as it is not on the way of packets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::nic {

class RegionsByAddress {
 public:
  // At least one byte, which do not wrap past the top of the space.
  void add(std::uint64_t base, std::uint64_t length, std::uint32_t slot) {
    const auto next = std::upper_bound(entries_.begin(), entries_.end(), base, begins_behind);
    const auto at = entries_.insert(next, {base, base + (length - 1), slot, 0});
    find_furthest(static_cast<std::size_t>(at - entries_.begin()));
  }
  void remove(std::uint64_t base, std::uint32_t slot) {
    auto at = std::lower_bound(entries_.begin(), entries_.end(), base, begins_before);
    while (at != entries_.end() && at->base == base && at->slot != slot) ++at;
    if (at == entries_.end() || at->base != base) return;
    find_furthest(static_cast<std::size_t>(entries_.erase(at) - entries_.begin()));
  }
  // The slot of a region that has all of these bytes.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t address, std::uint64_t length) const {
    const auto next = std::upper_bound(entries_.begin(), entries_.end(), address, begins_behind);
    if (next == entries_.begin()) return std::nullopt;
    const Entry& e = entries_[(next - 1)->furthest];
    const std::uint64_t more = length == 0 ? 0 : length - 1;  // bytes behind the first one
    if (address > e.last || more > e.last - address) return std::nullopt;
    return e.slot;
  }

 private:
  struct Entry {
    std::uint64_t base, last;  // its first and its last byte
    std::uint32_t slot;
    std::uint32_t furthest;  // of this entry and all before it: the one that reaches furthest
  };
  static bool begins_before(const Entry& e, std::uint64_t address) { return e.base < address; }
  static bool begins_behind(std::uint64_t address, const Entry& e) { return address < e.base; }
  void find_furthest(std::size_t from) {
    for (std::size_t i = from; i < entries_.size(); ++i) {
      entries_[i].furthest = static_cast<std::uint32_t>(i);
      if (i == 0) continue;
      const std::uint32_t before = entries_[i - 1].furthest;
      if (entries_[before].last >= entries_[i].last) entries_[i].furthest = before;
    }
  }

  std::vector<Entry> entries_;  // in the order of their first bytes
};

}  // namespace weft::nic
