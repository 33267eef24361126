// In the place of src/world/real/os/events.h: whoever waits lets the others of the scene run.
#pragma once

#include <span>

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "real_parts/stage.h"
#include "world/real/os/time.h"

namespace weft::real {

inline bool watch(int set, int fd) {
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.fd = fd;
  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0;
}

// A lane's thread asks for one event while the program drives, and for several when it sleeps.
inline int wait_for_events(int set, std::span<epoll_event> events, Time wait) {
  scene::note_wait(events.size() == 1);
  if (!scene::wait_to_read(set, wait)) return 0;
  return epoll_wait(set, events.data(), static_cast<int>(events.size()), 0);
}

inline bool wait_to_read(int fd, int most) { return scene::wait_to_read(fd, milliseconds(most)); }

inline void drain(int fd) {
  eventfd_t count = 0;
  (void)eventfd_read(fd, &count);
}

}  // namespace weft::real
