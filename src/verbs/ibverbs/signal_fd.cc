#include "verbs/ibverbs/signal_fd.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace weft::verbs {

SignalFd::SignalFd() : fd_(::eventfd(0, EFD_CLOEXEC)), bed_(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {}

SignalFd::~SignalFd() { close(); }

void SignalFd::close() {
  if (fd_ >= 0) ::close(fd_);
  if (bed_ >= 0) ::close(bed_);
  fd_ = bed_ = -1;
}

// Neither write can block: that would take 2^64 events.
void SignalFd::raise() {
  const std::uint64_t one = 1;
  raised_ = ::write(fd_, &one, sizeof one) == sizeof one || raised_;
  // A sleeper that was interrupted leaves its token behind; whoever finds it wakes up, sees nothing and sleeps again.
  if (sleepers_ != 0 && ::write(bed_, &sleepers_, sizeof sleepers_) == sizeof sleepers_) sleepers_ = 0;
}

void SignalFd::clear() {
  if (!raised_) return;
  std::uint64_t count = 0;
  // Cannot block: only we read it, and it was raised.
  raised_ = ::read(fd_, &count, sizeof count) < 0 && errno == EINTR;
}

// read() and not poll(), which no signal handler can have restarted.
int SignalFd::sleep() const {
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0) return errno;
  if ((flags & O_NONBLOCK) != 0) return EAGAIN;
  std::uint64_t token = 0;
  return ::read(bed_, &token, sizeof token) < 0 ? errno : 0;
}

}  // namespace weft::verbs
