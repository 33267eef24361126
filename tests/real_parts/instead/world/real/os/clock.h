// In the place of src/world/real/os/clock.h: the time of the scene.
#pragma once

#include "base/time.h"
#include "real_parts/stage.h"

namespace weft::real {

inline Time clock_now() { return scene::clock_now(); }

}  // namespace weft::real
