// Waiting for descriptors.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <span>

#include <poll.h>
#include <sys/epoll.h>

#include "world/real/os/event_descriptors.h"
#include "world/real/os/time.h"

namespace weft::real {

// Up to `wait`, or for ever. Old kernels and valgrind know milliseconds only, and a sandbox may know no newer call.
inline int wait_for_events(int set, std::span<epoll_event> events, Time wait) {
  const int most = static_cast<int>(events.size());
  static std::atomic<bool> coarse{false};
  if (!coarse.load(std::memory_order_relaxed)) {
    const timespec exact = timespec_of(wait);
    const int n = epoll_pwait2(set, events.data(), most, wait == kNever ? nullptr : &exact, nullptr);
    if (n >= 0 || (errno != ENOSYS && errno != EPERM)) return n;
    coarse.store(true, std::memory_order_relaxed);
  }
  constexpr Time kLongest = seconds(1000);
  const Time rounded = (std::min(wait, kLongest) + milliseconds(1) - 1) / milliseconds(1);
  return epoll_wait(set, events.data(), most, wait == kNever ? -1 : static_cast<int>(rounded));
}

// False: nothing came.
inline bool wait_to_read(int fd, int milliseconds) {
  pollfd p{fd, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&p, 1, milliseconds);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace weft::real
