// Lanes that come back late to the successor of a broker that was killed: on a busy machine they run when they can.
#include <array>
#include <cerrno>
#include <chrono>
#include <future>
#include <mutex>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "broker_list.h"
#include "few_descriptors.h"
#include "lanes.h"

namespace weft::real {
namespace {

const wire::Address kBusyAddress = wire::Address::v4(127, 0, 15, 1);

// Why a lane cannot join at that address; 0: it can.
int code_of_joining() {
  Nobody owner;
  Lane lane(small_lane_at(kBusyAddress), owner);
  const auto attached = lane.attach();
  return attached ? 0 : attached.error().code;
}

// Bug: newcomers waited for half a second, and were told that the address is taken. As long as its lock is held here,
// the lane cannot let go of its address.
TEST(LateReturn, IsWaitedForByNewcomers) {
  alone([] {
    TestLane late(small_lane_at(kBusyAddress));
    std::unique_lock held(late.lane.lock());
    if (!kill_broker()) return false;
    auto newcomer = std::async(std::launch::async, code_of_joining);
    const bool waits = newcomer.wait_for(std::chrono::seconds(2)) == std::future_status::timeout;
    held.unlock();
    return waits && newcomer.get() == 0;
  });
}

// Bug: a program that speaks by shared memory alone was told just then that its peer is not on this machine.
TEST(LateReturn, IsWaitedForByWhoNamesTheLane) {
  alone([] {
    TestLane late(small_lane_at(kBusyAddress));
    Settings by_rings = small_lane_at(kBusyAddress);
    by_rings.wire = WireChoice::shm;
    TestLane asker(by_rings);
    const wire::Qpn its = late.make_qp()->qpn();
    std::unique_lock held(late.lane.lock());
    if (!kill_broker()) return false;
    auto reaches = std::async(std::launch::async, [&] { return asker.lane.reaches(kBusyAddress, its); });
    const bool waits = reaches.wait_for(std::chrono::milliseconds(200)) == std::future_status::timeout;
    held.unlock();
    return waits && reaches.get();
  });
}

// Tells whether the broker knows of a lane of its parent's, of which it is told the number.
class Witness {
 public:
  Witness() {
    if (pipe(ask_.data()) != 0) return;
    process_ = fork();
    if (process_ != 0) return;
    std::uint8_t number = 0;
    const bool asked = read(ask_[0], &number, 1) == 1;
    _exit(asked && eventually([&] { return told_of(number)["process"] == getppid(); }) ? kWell : kNotWell);
  }
  [[nodiscard]] bool has_seen(std::uint8_t number) const {
    int status = 0;
    return write(ask_[1], &number, 1) == 1 && waitpid(process_, &status, 0) == process_ && WIFEXITED(status) &&
           WEXITSTATUS(status) == kWell;
  }

 private:
  std::array<int, 2> ask_{-1, -1};
  pid_t process_ = -1;
};

// Bug: it kept the line to the dead broker, and so had no descriptor for one to the next, for ever, and nobody else had
// its address.
TEST(LateReturn, NeedsNoDescriptorThatItHasNot) {
  alone([] {
    const Witness witness;
    TestLane lane(small_lane_at(kBusyAddress));
    std::unique_lock held(lane.lane.lock());
    if (!kill_broker()) return false;
    const FewDescriptors none(0);
    held.unlock();
    return witness.has_seen(lane.lane.number());
  });
}

}  // namespace
}  // namespace weft::real
