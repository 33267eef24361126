// In which order a program posts to its queue pairs. Who serves thousands of connections mostly does so in turn, time
// and again in the same order; so the queue pair that came after this one the last time is likely to come after it now,
// and what posting to it will need is fetched ahead. A guess that is wrong costs a few loads.
#pragma once

#include <cstdint>

#include "base/prefetch.h"
#include "base/zeroed_table.h"
#include "nic/card_state.h"
#include "nic/ring_entry.h"

namespace weft::host {

class PostOrder {
 public:
  explicit PostOrder(nic::ContextTable& contexts) : contexts_(contexts), after_(contexts.size()) {}

  // So many entries were posted to the queue pair in this slot.
  void note(std::uint32_t slot, std::uint32_t entries) {
    if (slot == last_) return;
    if (after_[last_] != slot) after_[last_] = slot;
    last_ = slot;
    if (slot == expected_) {
      soon_ = after_[soon_];
      later_ = after_[later_];
    } else {
      soon_ = after_[after_[slot]];
      later_ = after_[after_[soon_]];
    }
    expected_ = after_[slot];
    fetch(entries);
  }

  // Who is expected to be posted to two and four queue pairs from now.
  [[nodiscard]] std::uint32_t soon() const { return soon_; }
  [[nodiscard]] std::uint32_t later() const { return later_; }

 private:
  void fetch(std::uint32_t entries) {
    prefetch(&after_[later_]);  // where the next guess begins
    const nic::Context& later = contexts_[later_];
    prefetch(&later);
    prefetch(&later.sq);
    const nic::Context& soon = contexts_[soon_];  // was asked for when it was later_
    if (soon.sq == nullptr) return;
    for (std::uint32_t i = 0; i < entries && i < kMostEntries; ++i) {
      prefetch(nic::ring_entry(soon.sq, soon.sq_posted + i, soon.sq_shift, soon.sq_stride));
    }
  }

  static constexpr std::uint32_t kMostEntries = 8;

  nic::ContextTable& contexts_;
  ZeroedTable<std::uint32_t> after_;  // by slot
  std::uint32_t last_ = 0, expected_ = 0;
  std::uint32_t soon_ = 0, later_ = 0;
};

}  // namespace weft::host
