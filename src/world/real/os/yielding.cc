#include "world/real/os/yielding.h"

#include <algorithm>

#include <sched.h>

#include "world/real/os/clock.h"

namespace weft::real {
namespace {

constexpr Time kSomebodyRan = microseconds(10);                   // a yield that takes so long
constexpr int kTimes = 4;                                         // in a row
constexpr Time kSoonest = milliseconds(5), kLatest = seconds(1);  // between two moves of a thread

struct Crowd {
  int long_yields = 0;  // in a row
  Time stays_until = 0;
  Time stay = kSoonest;  // longer each time, as long as moving does not help
};
thread_local Crowd crowd;

void move_elsewhere() {
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE) return;
  others = allowed;
  CPU_CLR(static_cast<unsigned>(here), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  (void)sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace

void yield_processor() {
  const Time before = clock_now();
  sched_yield();
  const Time after = clock_now();
  if (after - before < kSomebodyRan) {
    crowd.long_yields = 0;
    return;
  }
  if (++crowd.long_yields < kTimes || after < crowd.stays_until) return;
  crowd.long_yields = 0;
  crowd.stay = after - crowd.stays_until > kLatest ? kSoonest : std::min(2 * crowd.stay, kLatest);
  crowd.stays_until = after + crowd.stay;
  move_elsewhere();
}

}  // namespace weft::real
