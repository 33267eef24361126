// Coroutines of the simulated world are the ones that programs write (weft/task.h); scheduler.h runs them.
//
//   Task<int> part(Scheduler& s) { co_await s.sleep(microseconds(3)); co_return 7; }
//   Task<> application(Scheduler& s) { const int seven = co_await part(s); ... }
#pragma once

#include "weft/task.h"

namespace weft::sim {

using weft::Task;

}  // namespace weft::sim
