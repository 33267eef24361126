// A sandbox answers EPERM to system calls that it does not know. Where there is another way the lane takes it, and
// where there is none it says what is missing.
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "alone.h"
#include "lanes.h"

namespace weft::real {
namespace {

// For this process and all that it starts.
bool deny(std::uint32_t call) {
  std::array<sock_filter, 4> program{
      sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
      sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

Settings settings() {
  Settings s;
  s.addresses = {wire::Address::v4(127, 0, 12, 1)};
  s.max_qps = 16;
  return s;
}

double seconds_spent() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

// Bug: the lane's thread asked again and again, with a whole processor.
TEST(Sandbox, WithoutExactWaitsLetsTheLaneSleep) {
  alone([] {
    if (!deny(SYS_epoll_pwait2)) return false;
    const TestLane lane(settings());
    const double before = seconds_spent();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return lane.lane.number() != 0 && seconds_spent() - before < 0.1;
  });
}

// Memory of another kind could be made smaller under those who share it.
TEST(Sandbox, WithoutSharedMemoryIsTold) {
  alone([] {
    if (!deny(SYS_memfd_create)) return false;
    Nobody owner;
    Lane lane(settings(), owner);
    const auto attached = lane.attach();
    return !attached && attached.error().code == EPERM && attached.error().what.starts_with("memfd_create ");
  });
}

}  // namespace
}  // namespace weft::real
