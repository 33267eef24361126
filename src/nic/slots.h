// Hands out the free slots of a table in an order nobody can guess: with 24-bit queue pair numbers and
// 32-bit keys, the place in the table is most of the secret (ReDMArk V1, V5).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace weft::nic {

class Slots {
 public:
  explicit Slots(std::uint32_t size, std::uint32_t first = 0) {
    free_.reserve(size - first);
    for (std::uint32_t i = first; i < size; ++i) free_.push_back(i);
  }
  [[nodiscard]] bool empty() const { return free_.empty(); }
  [[nodiscard]] std::uint32_t take(std::uint64_t random) {
    std::swap(free_[random % free_.size()], free_.back());
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(std::uint32_t slot) { free_.push_back(slot); }

 private:
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::nic
