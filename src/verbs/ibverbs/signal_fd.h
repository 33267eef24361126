// A descriptor that is readable while there is something to fetch. Programs poll it, make it non-blocking, hand it to
// epoll; they never read it. What there is to fetch stands elsewhere, under the lane's lock.
#pragma once

namespace weft::verbs {

class SignalFd {
 public:
  SignalFd();
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  [[nodiscard]] int fd() const { return fd_; }  // -1: the process has no descriptor left

  // With the lane's lock held. Every raise wakes who waits, even if it was raised before: edge-triggered waiters count
  // on that.
  void raise();
  void clear();

  // Without the lock: waits until it is raised. 0, or why not: EAGAIN if the program made it non-blocking, EINTR.
  [[nodiscard]] int wait() const;

 private:
  int fd_;
  bool raised_ = false;
};

}  // namespace weft::verbs
