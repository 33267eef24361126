// In the place of src/world/real/os/events.h: whoever waits lets the others of the scene run.
#pragma once

#include <span>

#include <sys/epoll.h>

#include "real_parts/stage.h"
#include "world/real/os/event_descriptors.h"
#include "world/real/os/time.h"

namespace weft::real {

// A lane's thread asks for one event while the program drives, and for several when it sleeps.
inline int wait_for_events(int set, std::span<epoll_event> events, Time wait) {
  scene::note_wait(events.size() == 1);
  if (!scene::wait_to_read(set, wait)) return 0;
  return epoll_wait(set, events.data(), static_cast<int>(events.size()), 0);
}

inline bool wait_to_read(int fd, int most) { return scene::wait_to_read(fd, milliseconds(most)); }

}  // namespace weft::real
