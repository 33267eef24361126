// The thread that a lane has for itself, and how threads let time pass.
#pragma once

#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "world/real/os/time.h"

namespace weft::real {

class LaneThread {
 public:
  // False, and errno: there is none to be had. The program's signals are the program's.
  template <class Run>
  [[nodiscard]] bool start(Run run) {
    sigset_t every{}, before{};
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    bool good = true;
    try {
      thread_ = std::thread([run] {
        prctl(PR_SET_TIMERSLACK, 1UL);  // nanosecond: the usual 50 us are more than a moment
        run();
      });
      pthread_setname_np(thread_.native_handle(), "weft-lane");
    } catch (const std::system_error&) {
      errno = EAGAIN;
      good = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return good;
  }
  [[nodiscard]] bool joinable() const { return thread_.joinable(); }
  void join() { thread_.join(); }

 private:
  std::thread thread_;
};

inline void yield_processor() { std::this_thread::yield(); }

inline void doze(Time how_long) {
  const timespec t = timespec_of(how_long);
  nanosleep(&t, nullptr);
}

}  // namespace weft::real
