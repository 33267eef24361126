#pragma once

#include "verbs/ibverbs/context.h"

namespace weft::verbs {

// Null and errno; `attr.cap` becomes what was got. Role none: as the settings say.
QueuePair* make_qp(ibv_pd* pd, ibv_qp_init_attr& attr, host::StarRole role = host::StarRole::none);

}  // namespace weft::verbs
