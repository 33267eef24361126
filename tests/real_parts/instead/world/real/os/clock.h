// In the place of src/world/real/os/clock.h: the time of the scene.
#pragma once

#include "real_parts/stage.h"
#include "world/real/os/time.h"

namespace weft::real {

inline Time clock_now() { return scene::clock_now(); }

}  // namespace weft::real
