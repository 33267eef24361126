// Sets of descriptors that are waited for, and descriptors that tell of events. Nothing here waits.
#pragma once

#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace weft::real {

inline bool watch(int set, int fd) {
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.fd = fd;
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0;
}

// Forgets what an eventfd was told.
inline void drain(int fd) {
  eventfd_t count = 0;
  (void)eventfd_read(fd, &count);
}

}  // namespace weft::real
