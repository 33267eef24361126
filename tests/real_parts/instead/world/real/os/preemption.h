// In the place of src/world/real/os/preemption.h: the seed says whether somebody else runs now.
#pragma once

#include "real_parts/stage.h"

namespace weft::real {

inline void may_be_preempted() { scene::may_be_preempted(); }

}  // namespace weft::real
