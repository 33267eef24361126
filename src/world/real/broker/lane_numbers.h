// Which lane number a lane gets that has had none yet. A pure machine: time is an argument.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "wire/lane_number.h"
#include "world/real/broker/messages.h"
#include "world/real/os/time.h"

namespace weft::real {

class LaneNumbers {
 public:
  // One that nobody has and that has rested: packets for its last owner may still be under way, and others remember
  // what it spoke. If none has rested, the one that has rested longest. 0: somebody has each of them.
  template <class IsTaken>
  [[nodiscard]] std::uint8_t choose(Time now, std::size_t lanes, IsTaken&& is_taken) {
    const std::uint8_t highest = highest_of(lanes);
    for (std::uint8_t tried = wire::kFirstLane; tried <= wire::kLastLane; ++tried) {
      const std::uint8_t candidate = next_;
      next_ = next_ >= highest ? wire::kFirstLane : static_cast<std::uint8_t>(next_ + 1);
      if (now >= rests_until_[candidate] && !is_taken(candidate)) return candidate;
    }
    std::uint8_t found = 0;
    for (std::uint8_t n = wire::kFirstLane; n <= wire::kLastLane; ++n) {
      if ((found == 0 || rests_until_[n] < rests_until_[found]) && !is_taken(n)) found = n;
    }
    return found;
  }
  void rest(Time now, std::uint8_t lane_number) { rests_until_[lane_number] = now + kNumberRests; }

 private:
  // Few sockets are opened as long as few programs run.
  static std::uint8_t highest_of(std::size_t lanes) {
    return static_cast<std::uint8_t>(std::min<std::size_t>(wire::kLastLane, 2 * lanes + 4));
  }

  std::uint8_t next_ = wire::kFirstLane;
  std::array<Time, 128> rests_until_{};
};

}  // namespace weft::real
