// The side that messages arrive at.
#pragma once

#include "cli/connections/options.h"
#include "cli/connections/side.h"

namespace weft::connections {

// Has receives posted for SENDs, in time and enough of them, until the other side says something or is gone. WRITEs
// need nobody here: it waits without looking, as perftest does.
void receive_until_told(const LoadSide& side, LoadVerb verb);

}  // namespace weft::connections
