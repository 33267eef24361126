// Runs a setting in a simulated world of its own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/setting.h"

namespace weft::lab {

// What was measured, by name: goodput_gbps, mac_gbps, ... (metrics.h says what each is and its unit).
using Outcome = std::vector<std::pair<std::string, double>>;

// How many messages a run of this setting sees, before it measures and while it does.
struct Messages {
  std::uint64_t warm_up, measured;
};
[[nodiscard]] Messages messages_of(const Setting& setting);

// The same setting gives the same outcome. Touches nothing outside of itself: two may run at once in two threads.
[[nodiscard]] Outcome run(const Setting& setting);

}  // namespace weft::lab
