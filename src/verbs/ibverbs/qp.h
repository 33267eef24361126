#pragma once

#include "verbs/ibverbs/context.h"

namespace weft::verbs {

// What verbs have no word for (weft/dv.h).
struct QpExtras {
  host::StarRole role = host::StarRole::none;  // none: as the settings say
  std::uint32_t serves_calls = 0, local_calls = 0;
  bool calls = false;
};

// Null and errno; `attr.cap` becomes what was got.
QueuePair* make_qp(ibv_pd* pd, ibv_qp_init_attr& attr, const QpExtras& extras = {});

}  // namespace weft::verbs
