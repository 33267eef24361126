// The schedule queue: slots of queue pairs that have something to send, each standing in it at most once
// (the context's flag says so), so a ring as large as the context table never overflows.
#pragma once

#include <cstdint>

#include "base/zeroed_table.h"
#include "nic/context.h"

namespace weft::nic {

class SlotQueue {
 public:
  explicit SlotQueue(std::uint32_t power_of_two) : ring_(power_of_two), mask_(power_of_two - 1) {}

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }
  void push(std::uint32_t slot) { ring_[tail_++ & mask_] = slot; }
  [[nodiscard]] std::uint32_t pop() { return ring_[head_++ & mask_]; }
  // The slot that will be popped `ahead` pops from now, for prefetching; kNone where there is none.
  [[nodiscard]] std::uint32_t peek(std::uint32_t ahead) const {
    return ahead < size() ? ring_[(head_ + ahead) & mask_] : kNone;
  }
  // A destroyed queue pair must not be found here by the next owner of its slot.
  void remove(std::uint32_t slot) {
    std::uint32_t to = head_;
    for (std::uint32_t from = head_; from != tail_; ++from) {
      if (ring_[from & mask_] != slot) ring_[to++ & mask_] = ring_[from & mask_];
    }
    tail_ = to;
  }

 private:
  ZeroedTable<std::uint32_t> ring_;
  std::uint32_t mask_;
  std::uint32_t head_ = 0, tail_ = 0;
};

}  // namespace weft::nic
