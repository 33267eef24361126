// Runs a setting in a simulated world of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/setting.h"

namespace weft::lab {

// What was measured, by name: goodput_gbps, mac_gbps, ... (metrics.h says what each is and its unit).
using Outcome = std::vector<std::pair<std::string, double>>;

// The same setting gives the same outcome. Touches nothing outside of itself: two may run at once in two threads.
[[nodiscard]] Outcome run(const Setting& setting);

}  // namespace weft::lab
