#pragma once

#include "verbs/ibverbs/context.h"

namespace weft::verbs {

// The channel's descriptor is readable no longer if its last event is gone. With the lane's lock held.
void settle(Context& c, CompletionChannel& channel);

}  // namespace weft::verbs
