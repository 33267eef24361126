// When a lane looks at the roles of its running connections again: after its count of connections has crossed the
// threshold beyond which it keeps no state, or has fallen far below it. Pure: time and counts go in.
//
// Counts that swing around the threshold do not make connections move for ever: above it connections become stateless,
// but only at half of it do they come back. A peer that has refused is asked again later, each time twice as late.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/star/role.h"
#include "world/real/os/time.h"

namespace weft::real {

class RoleWatch {
 public:
  static constexpr Time kSettles = milliseconds(500);  // a count that has just changed may change more
  static constexpr Time kLooks = seconds(1);           // at a count that may have fallen without anybody's saying so
  static constexpr Time kFirstAgain = seconds(10), kLastAgain = seconds(600);
  static constexpr std::uint32_t kCalmerBy = 2;

  // Connections that it keeps state for; 0: for all.
  explicit RoleWatch(std::uint32_t beyond) : beyond_(beyond) {}

  // The lane has so many reliable connections now.
  void note(Time now, std::uint32_t own) {
    if (beyond_ == 0) return;
    const bool was_above = is_above_, was_busy = is_busy_;
    is_above_ = own > beyond_;
    if (is_above_) is_busy_ = true;
    if (own <= beyond_ / kCalmerBy) is_busy_ = false;
    if (is_busy_ == was_busy && (!is_above_ || was_above)) return;
    again_ = kFirstAgain;
    next_ = now + kSettles;
  }
  [[nodiscard]] Time next() const { return next_; }
  // Connections may be stateless because there are, or were, so many.
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  // It is time: note() has been called. Does it want to look at all connections?
  [[nodiscard]] bool is_due(Time now) {
    if (now < next_) return false;
    next_ = kNever;
    return true;
  }
  // What a connection should play that plays this, and chose it or nothing. A role that it keeps is as good as another
  // one.
  [[nodiscard]] host::StarRole wanted(host::StarRole now) const {
    if (is_above_) return host::StarRole::stateless;
    return !is_busy_ && now == host::StarRole::stateless ? host::StarRole::none : now;
  }
  // All connections have been looked at.
  void looked(Time now, bool some_refused) {
    if (!some_refused) return;
    next_ = std::min(next_, now + again_);
    again_ = std::min(2 * again_, kLastAgain);
  }

 private:
  std::uint32_t beyond_;
  bool is_above_ = false, is_busy_ = false;  // busy: above, or not yet far below
  Time next_ = kNever, again_ = kFirstAgain;
};

}  // namespace weft::real
