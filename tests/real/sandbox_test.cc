// A sandbox answers EPERM to system calls that it does not know. Where there is another way the lane takes it, and
// where there is none it says what is missing.
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>

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

const Settings kSandboxed = small_lane_at(wire::Address::v4(127, 0, 12, 1));

// Does the lane's thread wait for something? One that asks again and again runs.
bool lane_sleeps() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream facts(thread.path() / "stat");
    std::string number, name, state;
    if (facts >> number >> name >> state && name == "(weft-lane)") return state == "S";
  }
  return false;
}

// Bug: the lane's thread asked again and again, with a whole processor.
TEST(Sandbox, WithoutExactWaitsLetsTheLaneSleep) {
  alone([] {
    if (!deny(SYS_epoll_pwait2)) return false;
    const TestLane lane(kSandboxed);
    return lane.lane.number() != 0 && eventually(lane_sleeps);
  });
}

// Memory of another kind could be made smaller under those who share it.
TEST(Sandbox, WithoutSharedMemoryIsTold) {
  alone([] {
    if (!deny(SYS_memfd_create)) return false;
    Nobody owner;
    Lane lane(kSandboxed, owner);
    const auto attached = lane.attach();
    return !attached && attached.error().code == EPERM && attached.error().what.starts_with("memfd_create ");
  });
}

}  // namespace
}  // namespace weft::real
