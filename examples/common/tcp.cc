#include "common/tcp.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace examples {
namespace {

sockaddr_in socket_address(const std::string& address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) give_up("'" + address + "' is no IPv4 address");
  return to;
}

const sockaddr* general(const sockaddr_in& a) { return static_cast<const sockaddr*>(static_cast<const void*>(&a)); }

// Answers are small and waited for.
void send_at_once(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

bool Socket::read(std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t n = ::recv(fd_, into.data(), into.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool Socket::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

Socket listen_at(const std::string& address, std::uint16_t port) {
  const sockaddr_in at = socket_address(address, port);
  Socket s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(s.fd(), general(at), sizeof at) != 0 || listen(s.fd(), 4096) != 0)
    give_up("cannot listen at " + address + ":" + std::to_string(port) + ": " + std::strerror(errno));
  return s;
}

Socket connect_to(const std::string& address, std::uint16_t port) {
  const sockaddr_in to = socket_address(address, port);
  Socket s(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(s.fd(), general(to), sizeof to) != 0)
    give_up("cannot connect to " + address + ":" + std::to_string(port) + ": " + std::strerror(errno));
  send_at_once(s.fd());
  return s;
}

Socket accept_at(const Socket& listener) {
  Socket s(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (s.fd() >= 0) send_at_once(s.fd());
  return s;
}

void give_up(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::exit(1);
}

}  // namespace examples
