// The schedule queue: slots of queue pairs that have something to send, each standing in it at most once
// (the context's flag says so), so a ring as large as the context table never overflows. This is SRNIC's: a slot is two
// bytes as long as the table has no more than 65536 of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/zeroed_table.h"
#include "nic/context.h"

namespace weft::nic {

// How a slot number is kept: in a table of up to kSmallTable queue pairs, and in a larger one.
using SmallSlot = std::uint16_t;
using LargeSlot = std::uint32_t;
inline constexpr std::uint32_t kSmallTable = 1U << 16;

[[nodiscard]] constexpr std::size_t slot_bytes(std::uint32_t table) {
  return table <= kSmallTable ? sizeof(SmallSlot) : sizeof(LargeSlot);
}

// Slot numbers, one for each place, as narrow as the table allows.
class SlotNumbers {
 public:
  explicit SlotNumbers(std::uint32_t size)
      : large_table_(size > kSmallTable), small_(large_table_ ? 0 : size), large_(large_table_ ? size : 0) {}

  [[nodiscard]] std::uint32_t get(std::uint32_t place) const {
    if (large_table_) [[unlikely]]
      return large_[place];
    return small_[place];
  }
  void set(std::uint32_t place, std::uint32_t slot) {
    if (large_table_) [[unlikely]] {
      large_[place] = slot;
    } else {
      small_[place] = static_cast<SmallSlot>(slot);
    }
  }
  [[nodiscard]] std::size_t bytes() const {
    return small_.size() * sizeof(SmallSlot) + large_.size() * sizeof(LargeSlot);
  }

 private:
  bool large_table_;
  ZeroedTable<SmallSlot> small_;
  ZeroedTable<LargeSlot> large_;
};

// First come, first served. As a policy of the scheduler it is round robin: whoever has more to send stands at the end
// again.
class SlotQueue {
 public:
  explicit SlotQueue(std::uint32_t power_of_two) : ring_(power_of_two), mask_(power_of_two - 1) {}

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }
  void push(std::uint32_t slot) {
    if (empty()) head_ = tail_ = 0;  // a short queue stays in few cache lines, however large the ring is
    ring_.set(tail_++ & mask_, slot);
  }
  [[nodiscard]] std::uint32_t pop() { return ring_.get(head_++ & mask_); }
  // The slot that will be popped `ahead` pops from now, for prefetching; kNone where there is none.
  [[nodiscard]] std::uint32_t peek(std::uint32_t ahead) const {
    return ahead < size() ? ring_.get((head_ + ahead) & mask_) : kNone;
  }
  // A destroyed queue pair must not be found here by the next owner of its slot.
  void remove(std::uint32_t slot) {
    std::uint32_t to = head_;
    for (std::uint32_t from = head_; from != tail_; ++from) {
      const std::uint32_t here = ring_.get(from & mask_);
      if (here != slot) ring_.set(to++ & mask_, here);
    }
    tail_ = to;
  }
  [[nodiscard]] std::size_t bytes() const { return ring_.bytes(); }

 private:
  SlotNumbers ring_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0, tail_ = 0;
};

}  // namespace weft::nic
