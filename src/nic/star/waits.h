// How long a StaR connection's stateful side waits for what: an answer, a packet's way, a peer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "nic/card_state.h"
#include "nic/context.h"
#include "nic/star/link.h"

namespace weft::nic {

class StarWaits {
 public:
  explicit StarWaits(const CardConfig& config) : config_(config) {}

  // That a silent peer's work is tried for.
  [[nodiscard]] Time longest() const { return 60'000'000 * microsecond(); }
  [[nodiscard]] Time microsecond() const { return 1000 * config_.nanosecond; }
  // Before the first answer: long enough for any network that the card is meant for.
  [[nodiscard]] Time timeout(const Context& c) const {
    const StarLink& l = *c.link;
    return c.ack_timeout == 0 ? usual_wait(l) : std::min(usual_wait(l), config_.ack_timeout(c.ack_timeout));
  }
  [[nodiscard]] Time usual_wait(const StarLink& l) const {
    const Time silence = config_.star_silence;
    const Time usual = l.answer_time == 0 ? 5 * silence : l.answer_time + std::max(4 * l.variation, silence);
    return usual << l.backoff;
  }
  // Long enough for the way, if anybody would wait so long for an answer.
  [[nodiscard]] Time lifetime(const Context& c) const {
    return std::max(config_.star_lifetime, std::min(2 * usual_wait(*c.link), longest_way(c)));
  }
  [[nodiscard]] Time longest_way(const Context& c) const { return c.ack_timeout == 0 ? longest() : patience(c); }
  // As long as any requester would have tried.
  [[nodiscard]] Time patience(const Context& c) const {
    return c.ack_timeout == 0 ? kNever : star_patience(config_.ack_timeout(c.ack_timeout), c.retry_count);
  }

 private:
  const CardConfig& config_;
};

}  // namespace weft::nic
