// A broker of one's own, in a network namespace of its own, and what a test can see of it.
#pragma once

#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/patience.h"
#include "world/real/broker/broker_client.h"
#include "world/real/broker/broker_place.h"
#include "world/real/broker/conversation.h"
#include "world/real/os/descriptor.h"

namespace weft::real {

// What the child of a fork says, as its exit code.
inline constexpr int kWell = 0, kNotWell = 1, kNoNamespace = 77;
inline constexpr unsigned kLongest = 120;  // seconds: one that waits for ever has failed

// As the user that it was: nobody else's files are ours to make.
inline bool leave_users_namespace() {
  const std::string same = std::to_string(geteuid()) + " " + std::to_string(geteuid()) + " 1";
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  std::ofstream("/proc/self/uid_map") << same;
  return true;
}

// Runs in a child process, in a network namespace of its own, and so with a broker of its own. True: all was well.
template <class Deed>
void alone(Deed&& deed) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLongest);
    const bool apart = unshare(CLONE_NEWNET) == 0 || leave_users_namespace();
    const Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP;
    (void)ioctl(any.get(), SIOCSIFFLAGS, &loopback);
    _exit(!apart ? kNoNamespace : deed() ? kWell : kNotWell);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kNoNamespace) GTEST_SKIP() << "making network namespaces is not allowed here";
  EXPECT_EQ(WEXITSTATUS(status), kWell);
}

// That it listens at; empty: there is none.
inline std::string broker_socket() {
  for (const std::string& path : broker_sockets().value_or(std::vector<std::string>())) {
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

inline pid_t process_of(const Conversation& broker) {
  ucred other{};
  socklen_t bytes = sizeof other;
  return getsockopt(broker.fd(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 ? other.pid : 0;
}

inline bool answers(Conversation& broker, int milliseconds) {
  return broker.say(Message(Topic::list)) && broker.wait(milliseconds).has_value();
}

// A broker that has answered, and that stays as long as this conversation does. Between two calls it may leave.
inline Conversation reached_broker() {
  Conversation broker;
  const auto has_answered = [&] {
    if (!BrokerClient::is_there()) return false;
    broker = call_broker();
    return answers(broker, kPatienceMilliseconds);
  };
  return eventually(has_answered) ? std::move(broker) : Conversation();
}

// Until the kernel has ended it, with all that it had. The end of a conversation does not say so: a process that ends
// closes its newest descriptors first, and who calls meanwhile still gets through.
inline bool kill_broker() {
  const pid_t process = process_of(call_broker());
  const Descriptor its(process > 0 ? static_cast<int>(syscall(SYS_pidfd_open, process, 0)) : -1);
  if (!its || kill(process, SIGKILL) != 0) return false;
  pollfd ended{.fd = its.get(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, kPatienceMilliseconds) == 1;
}

inline double seconds_of_processor(pid_t process) {
  clockid_t clock{};
  timespec spent{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &spent) != 0) return -1;
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

}  // namespace weft::real
