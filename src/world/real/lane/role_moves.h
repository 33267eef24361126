// The moves of a lane's running connections: which of them want another role now that the lane has more connections, or
// fewer, and a few of them at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "host/star/mover.h"
#include "world/real/lane/role_watch.h"
#include "world/real/os/time.h"

namespace weft::real {

class RoleMoves {
 public:
  // -- all thresholds
  static constexpr std::size_t kAtOnce = 16;  // that this side asks for
  static constexpr host::MoveTimes kTimes{.look = microseconds(200),
                                          .first = milliseconds(10),
                                          .longest = milliseconds(500),
                                          .asking = seconds(2),
                                          .emptying = milliseconds(500),
                                          .holding = milliseconds(1500),
                                          .patience = seconds(20)};

  RoleMoves(host::Device& device, host::MoverWorld& world, std::uint32_t beyond)
      : device_(device), mover_(device, world, kTimes), watch_(beyond) {}

  // The lane has got connections, or has lost some.
  void note(Time now);
  void hear(Time now, host::QueuePair& qp, const wire::MoveMad& m) {
    mover_.hear(now, qp, m);
    go_on(now);
  }
  void on_time(Time now);
  [[nodiscard]] Time next_deadline() const { return next_; }

  // From the mover's world: what became of a move.
  void count_made() { ++made_; }
  void count_refused() {
    ++refused_;
    some_refused_ = true;
  }
  [[nodiscard]] std::uint64_t made() const { return made_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  void look_at_all();
  void go_on(Time now);
  void plan() { next_ = std::min({mover_.next_deadline(), watch_.next(), looks_at_}); }

  host::Device& device_;
  host::Mover mover_;
  RoleWatch watch_;
  std::vector<wire::Qpn> wanting_;  // another role, the next one last
  bool looks_ = false;              // at all connections, and is not through
  bool some_refused_ = false;
  Time looks_at_ = kNever;  // the count, while it may fall without anybody's saying so
  Time next_ = kNever;
  std::uint64_t made_ = 0, refused_ = 0;
};

}  // namespace weft::real
