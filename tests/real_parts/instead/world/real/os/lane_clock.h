// In the place of src/world/real/os/lane_clock.h: the time of the scene, and ticks that say nothing of it. So how long
// a copy takes follows from the seed.
#pragma once

#include <cstdint>

#include "world/real/os/clock.h"

namespace weft::real {

[[nodiscard]] inline std::uint64_t processor_ticks() { return scene::processor_ticks(); }

class LaneClock {
 public:
  [[nodiscard]] Time now() { return clock_now(); }
};

}  // namespace weft::real
