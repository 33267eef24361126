// A library to preload: the program's monotonic clock steps ahead a while after it has started, as if the program had
// run for that long. STEPPED_CLOCK says when and how far: "MILLISECONDS:DAYS ...", each on top of those before.
#include <cstdlib>

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

namespace {

template <class Function>
Function the_real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

timespec real_time() {
  static const auto real = the_real<int (*)(clockid_t, timespec*)>("clock_gettime");
  timespec t{};
  real(CLOCK_MONOTONIC, &t);
  return t;
}

const timespec began = real_time();

time_t seconds_ahead(const timespec& now) {
  const long passed = (now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1'000'000;
  time_t ahead = 0;
  const char* text = getenv("STEPPED_CLOCK");
  while (text != nullptr && *text != 0) {
    char* end = nullptr;
    const long when = strtol(text, &end, 10);
    if (*end != ':') break;
    const long days = strtol(end + 1, &end, 10);
    if (passed >= when) ahead += days * 86'400;
    text = end;
  }
  return ahead;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* t) {
  static const auto real = the_real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, t);
  if (clock == CLOCK_MONOTONIC && result == 0) t->tv_sec += seconds_ahead(*t);
  return result;
}

// Who waits until a moment of that clock means as long as it is until then.
extern "C" int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                      const timespec* until) {
  static const auto real =
      the_real<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  timespec earlier = *until;
  if (clock == CLOCK_MONOTONIC) earlier.tv_sec -= seconds_ahead(real_time());
  return real(condition, mutex, clock, &earlier);
}
