// A descriptor that is readable while there is something to fetch. Programs poll it, make it non-blocking, hand it to
// epoll; they never read it. What there is to fetch stands elsewhere, under the lane's lock.
#pragma once

#include <cstdint>

namespace weft::verbs {

class SignalFd {
 public:
  SignalFd();
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  void close();                                                      // who sleeps from now on is told EBADF
  [[nodiscard]] bool good() const { return fd_ >= 0 && bed_ >= 0; }  // else the process has no descriptor left

  // -- with the lane's lock held --
  // Every raise wakes who waits, even if it was raised before: edge-triggered waiters count on that.
  void raise();
  void clear();
  void expect() { ++sleepers_; }  // whoever found nothing and is about to sleep()

  // Without the lock: sleeps until something is raised. 0, or why not: EAGAIN if the program made the descriptor
  // non-blocking, EINTR. It ends early as a read() of rdma-core's descriptor would: for a signal whose handler does not
  // restart system calls, and when the thread is cancelled.
  [[nodiscard]] int sleep() const;

 private:
  int fd_;
  int bed_;  // where sleepers sleep: one token each
  std::uint64_t sleepers_ = 0;
  bool raised_ = false;
};

}  // namespace weft::verbs
