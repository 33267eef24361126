#include "cli/connections/link.h"

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

#include "cli/connections/failing.h"

namespace weft::connections {

void ControlSocket::end() const {
  if (when_gone_ == WhenGone::is_quiet) std::_Exit(1);
  give_up("the other of the two processes has ended");
}

void ControlSocket::write_bytes(const void* data, std::size_t bytes) const {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const ssize_t n = ::send(socket_, at, bytes, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) end();
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

void ControlSocket::read_bytes(void* data, std::size_t bytes) const {
  auto* at = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t n = ::recv(socket_, at, bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) end();
    at += n;
    bytes -= static_cast<std::size_t>(n);
  }
}

bool ControlSocket::is_told(int patience) const {
  pollfd told{socket_, POLLIN, 0};
  return ::poll(&told, 1, patience) > 0;
}

}  // namespace weft::connections
