// Waiting for descriptors, and being told by one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <span>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "world/real/os/time.h"

namespace weft::real {

inline bool watch(int set, int fd) {
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.fd = fd;
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0;
}

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

// What an eventfd was told.
inline void drain(int fd) {
  eventfd_t count = 0;
  (void)eventfd_read(fd, &count);
}

}  // namespace weft::real
