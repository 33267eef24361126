// How a test knows that another thread of its process waits: the kernel says in which system call the thread sleeps.
#pragma once

#include <atomic>
#include <fstream>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

#include "support/patience.h"

namespace weft {

// A thread whose number another one has to know: the thread says its number when it begins.
class KnownThread {
 public:
  void says_its_number() { number_ = static_cast<int>(syscall(SYS_gettid)); }

  // Does the thread sleep in this system call now? A thread that has been woken does not, though it may not run yet.
  [[nodiscard]] bool is_asleep_in(long call) const {
    std::ifstream file("/proc/self/task/" + std::to_string(number_) + "/syscall");
    std::string now;
    return file >> now && now == std::to_string(call);
  }
  // Waits until the thread sleeps there. False: this waited in vain.
  [[nodiscard]] bool falls_asleep_in(long call) const {
    return eventually([&] { return is_asleep_in(call); });
  }

 private:
  std::atomic<int> number_{0};
};

}  // namespace weft
