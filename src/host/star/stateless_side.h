// The host's part of StaR's stateless side: the blocks of its queue pairs, which no card keeps, and the timers of what
// it has posted. A WQEP that nobody acknowledges is posted again; the card would not know.
#pragma once

#include <cstdint>
#include <vector>

#include "base/zeroed_table.h"
#include "nic/card_state.h"
#include "nic/memory/recent_data.h"
#include "nic/schedule/scheduler.h"
#include "nic/schedule/timers.h"
#include "nic/slots.h"
#include "nic/stateless_block.h"

namespace weft::host {

class StatelessSide {
 public:
  // `most` queue pairs: a power of two.
  StatelessSide(nic::CardState& card, std::uint32_t most);
  ~StatelessSide() {
    card_.blocks = nullptr;
    card_.rung_blocks = nullptr;
    card_.recent_data = nullptr;
  }
  StatelessSide(const StatelessSide&) = delete;
  StatelessSide& operator=(const StatelessSide&) = delete;

  [[nodiscard]] bool full() const { return slots_.empty(); }
  [[nodiscard]] std::uint32_t most() const { return static_cast<std::uint32_t>(blocks_.size()); }
  // Numbers of blocks that nobody has.
  [[nodiscard]] nic::Slots& free() { return slots_; }
  // A fresh block, with this number from there, which stands where a context on a card has its timer.
  [[nodiscard]] nic::StatelessBlock& make(std::uint32_t number);
  void give_back(nic::StatelessBlock& b);
  // As new: whoever still names the old one is refused.
  void renew(nic::StatelessBlock& b);

  // Something was posted, or has to be said again, or the card has said something by itself.
  void ring(nic::Context& c) {
    if (c.rung) return;
    c.rung = true;
    rung_.push(c.timer);
  }
  // The state must move, or move again.
  void migrate(nic::StatelessBlock& b) {
    b.wants_migration = true;
    ring(b.context);
  }
  // Capabilities of another secret from now on: everything that carries one is said again.
  void renew_capabilities();

  // The queue pair breaks: what was posted first completes with this status, the rest is flushed.
  void break_off(nic::StatelessBlock& b, nic::Status status, Refusal why);
  [[nodiscard]] nic::StatelessBlock& of(const nic::Context& c) { return blocks_[c.timer]; }

  // -- the world's part
  [[nodiscard]] bool waiting() const { return !rung_.empty() || closings_seen_ != closings(); }
  // Hands each rung block to the card: deliver(StatelessBlock&).
  template <class Deliver>
  void take_posts(Time now, Deliver&& deliver) {
    if (closings_seen_ != closings()) take_back_rules();
    while (!rung_.empty()) {
      nic::StatelessBlock& b = blocks_[rung_.pop()];
      b.context.rung = false;
      deliver(b);
      watch(b, now);
    }
  }
  void on_time(Time now);
  [[nodiscard]] Time next_deadline() const { return timers_.next(); }

 private:
  // How often something was closed that peers may have rules for. What is closed altogether is refused by this card's
  // own gate; without capabilities a packet names no key, though, and another region may have the same bytes.
  [[nodiscard]] std::uint32_t closings() const {
    return card_.memory.changes() + (card_.config.star_trust ? card_.memory.closings() : 0);
  }
  void take_back_rules();
  void watch(nic::StatelessBlock& b, Time now);
  void learn_answer_time(const nic::StatelessBlock& b, Time now);
  static void discount_absence(nic::StatelessBlock& b, Time now);
  [[nodiscard]] Time interval(const nic::StatelessBlock& b) const;
  [[nodiscard]] bool has_waited_enough(const nic::StatelessBlock& b, Time now) const;

  nic::CardState& card_;
  std::uint32_t closings_seen_;
  ZeroedTable<nic::StatelessBlock> blocks_;
  std::uint32_t generation_ = 0;
  nic::RecentData recent_data_;
  std::vector<Time> told_at_;  // by block: when it last said something, and waited for nothing else; 0: never
  // How long peers take to answer, smoothed, over all connections: with thousands of them, and few processors, that is
  // milliseconds, and saying everything again meanwhile would only make it longer.
  Time answer_time_ = 0;
  nic::Slots slots_;
  nic::SlotQueue rung_;
  nic::Timers<ZeroedTable<nic::StatelessBlock>> timers_;
};

}  // namespace weft::host
