#include "verbs/ibverbs/signal_fd.h"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace weft::verbs {

SignalFd::SignalFd() : fd_(::eventfd(0, EFD_CLOEXEC)) {}

SignalFd::~SignalFd() {
  if (fd_ >= 0) ::close(fd_);
}

void SignalFd::raise() {
  const std::uint64_t one = 1;
  // Cannot block: that would take 2^64 events.
  raised_ = ::write(fd_, &one, sizeof one) == sizeof one || raised_;
}

void SignalFd::clear() {
  if (!raised_) return;
  std::uint64_t count = 0;
  // Cannot block: only we read it, and it was raised.
  raised_ = ::read(fd_, &count, sizeof count) < 0 && errno == EINTR;
}

int SignalFd::wait() const {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0) return errno;
  if ((flags & O_NONBLOCK) != 0) return EAGAIN;
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, -1) < 0 ? errno : 0;
}

}  // namespace weft::verbs
