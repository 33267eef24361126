// Who is next among the queue pairs that have something to send. The policies are siblings behind the same few calls;
// a device has one of them from its start to its end. What sets queue pairs apart is their service level.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "nic/context.h"
#include "nic/schedule/scheduler.h"

namespace weft::nic {

enum class Policy : std::uint8_t {
  round_robin,  // a turn each
  weighted,     // as many turns in a row as the weight of the service level says
  strict,       // whoever has a higher service level goes first, however long the others wait
};

inline constexpr std::size_t kServiceLevels = 16;
using Weights = std::array<std::uint8_t, kServiceLevels>;  // turns of each level; 0 counts as 1

constexpr Weights usual_weights() {
  Weights weights{};
  for (std::size_t level = 0; level < kServiceLevels; ++level) weights[level] = static_cast<std::uint8_t>(level + 1);
  return weights;
}

// `Owners` answers owners[slot].service_level.
template <class Owners>
class WeightedRoundRobin {
 public:
  WeightedRoundRobin(std::uint32_t slots, Owners& owners, const Weights& weights)
      : waiting_(slots), owners_(owners), weights_(weights) {}

  [[nodiscard]] bool empty() const { return !held_ && waiting_.empty(); }
  [[nodiscard]] std::uint32_t size() const { return waiting_.size() + (held_ ? 1 : 0); }
  // Who comes back with turns left goes on. Whoever has nothing to send when its turn is over loses the rest.
  void push(std::uint32_t slot) {
    if (slot == current_ && turns_left_ > 0) {
      held_ = true;
    } else {
      waiting_.push(slot);
    }
  }
  [[nodiscard]] std::uint32_t pop() {
    if (!held_) {
      current_ = waiting_.pop();
      turns_left_ = std::max<std::uint8_t>(weights_[owners_[current_].service_level], 1);
    }
    held_ = false;
    --turns_left_;
    return current_;
  }
  // A guess: those at the head may stay for several turns.
  [[nodiscard]] std::uint32_t peek(std::uint32_t ahead) const {
    if (!held_) return waiting_.peek(ahead);
    return ahead <= turns_left_ ? current_ : waiting_.peek(ahead - turns_left_);
  }
  void remove(std::uint32_t slot) {
    if (slot == current_) {
      current_ = kNone;
      held_ = false;
    }
    waiting_.remove(slot);
  }
  [[nodiscard]] std::size_t bytes() const { return waiting_.bytes(); }

 private:
  SlotQueue waiting_;
  Owners& owners_;
  Weights weights_;
  std::uint32_t current_ = kNone;  // who had the last turn
  std::uint8_t turns_left_ = 0;
  bool held_ = false;  // current_ has more to send, and turns left
};

// A list for each level. One link for each slot is enough for all of them, since nobody stands in two.
template <class Owners>
class StrictPriority {
 public:
  StrictPriority(std::uint32_t slots, Owners& owners) : next_(slots), owners_(owners) {}

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  void push(std::uint32_t slot) {
    List& list = lists_[owners_[slot].service_level];
    if (list.size == 0) {
      list.first = slot;
    } else {
      next_.set(list.last, slot);
    }
    list.last = slot;
    ++list.size;
    ++size_;
  }
  [[nodiscard]] std::uint32_t pop() {
    std::size_t level = kServiceLevels - 1;
    while (lists_[level].size == 0) --level;
    List& list = lists_[level];
    const std::uint32_t slot = list.first;
    list.first = next_.get(slot);
    --list.size;
    --size_;
    return slot;
  }
  [[nodiscard]] std::uint32_t peek(std::uint32_t ahead) const {
    if (ahead >= size_) return kNone;
    std::size_t level = kServiceLevels - 1;
    for (; ahead >= lists_[level].size; --level) ahead -= lists_[level].size;
    std::uint32_t slot = lists_[level].first;
    for (; ahead > 0; --ahead) slot = next_.get(slot);
    return slot;
  }
  // Its level may have changed since it was pushed: all lists are looked through, and those that stay keep their order.
  void remove(std::uint32_t slot) {
    for (List& list : lists_) {
      List left;
      std::uint32_t at = list.first;
      for (std::uint32_t i = 0; i < list.size; ++i) {
        const std::uint32_t after = next_.get(at);
        if (at != slot) {
          if (left.size == 0) {
            left.first = at;
          } else {
            next_.set(left.last, at);
          }
          left.last = at;
          ++left.size;
        }
        at = after;
      }
      size_ -= list.size - left.size;
      list = left;
    }
  }
  [[nodiscard]] std::size_t bytes() const { return next_.bytes() + sizeof(lists_); }

 private:
  struct List {
    std::uint32_t first = 0, last = 0, size = 0;
  };
  SlotNumbers next_;  // of each slot that stands in a list and is not its last
  Owners& owners_;
  std::array<List, kServiceLevels> lists_{};
  std::uint32_t size_ = 0;
};

// The one that was chosen. Round robin, the usual one, is asked about first.
template <class Owners>
class ReadyQueue {
 public:
  ReadyQueue(Policy policy, std::uint32_t slots, Owners& owners, const Weights& weights)
      : chosen_(choose(policy, slots, owners, weights)) {}

  [[nodiscard]] bool empty() const {
    return with(chosen_, [](const auto& q) { return q.empty(); });
  }
  [[nodiscard]] std::uint32_t size() const {
    return with(chosen_, [](const auto& q) { return q.size(); });
  }
  void push(std::uint32_t slot) {
    with(chosen_, [slot](auto& q) { q.push(slot); });
  }
  [[nodiscard]] std::uint32_t pop() {
    return with(chosen_, [](auto& q) { return q.pop(); });
  }
  [[nodiscard]] std::uint32_t peek(std::uint32_t ahead) const {
    return with(chosen_, [ahead](const auto& q) { return q.peek(ahead); });
  }
  void remove(std::uint32_t slot) {
    with(chosen_, [slot](auto& q) { q.remove(slot); });
  }
  [[nodiscard]] std::size_t bytes() const {
    return with(chosen_, [](const auto& q) { return q.bytes(); });
  }

 private:
  using Weighted = WeightedRoundRobin<Owners>;
  using Strict = StrictPriority<Owners>;
  using Chosen = std::variant<SlotQueue, Weighted, Strict>;

  static Chosen choose(Policy policy, std::uint32_t slots, Owners& owners, const Weights& weights) {
    if (policy == Policy::weighted) return Chosen(std::in_place_type<Weighted>, slots, owners, weights);
    if (policy == Policy::strict) return Chosen(std::in_place_type<Strict>, slots, owners);
    return Chosen(std::in_place_type<SlotQueue>, slots);
  }
  // No table of functions, as std::visit may have: a branch that is always the same. What is behind it stands apart, so
  // that the usual way stays short.
  template <class Variant, class Act>
  static decltype(auto) with(Variant& chosen, Act&& act) {
    if (auto* queue = std::get_if<SlotQueue>(&chosen)) [[likely]]
      return act(*queue);
    return with_unusual(chosen, act);
  }
  template <class Variant, class Act>
  [[gnu::noinline]] static decltype(auto) with_unusual(Variant& chosen, const Act& act) {
    if (auto* queue = std::get_if<Weighted>(&chosen)) return act(*queue);
    return act(*std::get_if<Strict>(&chosen));
  }

  Chosen chosen_;
};

}  // namespace weft::nic
