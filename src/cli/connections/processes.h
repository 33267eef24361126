// Processes of this program that talk over a socket: each of its own, so that what one does finds memory as if the
// others had never been.
#pragma once

#include <cstring>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/connections/failing.h"

namespace weft::connections {

class Sockets {  // two, joined with each other
 public:
  Sockets() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0) give_up("socketpair: {}", std::strerror(errno));
  }
  ~Sockets() {
    for (const int end : {0, 1}) close_end(end);
  }
  Sockets(const Sockets&) = delete;
  Sockets& operator=(const Sockets&) = delete;

  [[nodiscard]] int end(int which) const { return ends_[which]; }
  void close_end(int which) {
    if (ends_[which] >= 0) close(ends_[which]);
    ends_[which] = -1;
  }

 private:
  int ends_[2] = {-1, -1};
};

// Gives one end to a process of its own. Nobody else holds that end, so whoever is left hears that the other is gone.
template <class Body>
pid_t start(Sockets& sockets, int which, const Body& body) {
  const pid_t child = fork();
  if (child < 0) give_up("fork: {}", std::strerror(errno));
  if (child > 0) {
    sockets.close_end(which);
    return child;
  }
  sockets.close_end(1 - which);
  body(sockets.end(which));
  _exit(0);
}

inline void must_end_well(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::_Exit(1);  // it has said why
}

}  // namespace weft::connections
