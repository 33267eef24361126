// A broker that does not answer, because it is stopped or has no processor, holds up nobody's data.
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include "alone.h"
#include "lanes.h"

namespace weft::real {
namespace {

using Clock = std::chrono::steady_clock;

const wire::Address kLateAddress = wire::Address::v4(127, 0, 14, 1);
constexpr auto kTooLong = std::chrono::milliseconds(kAnswerWithin / 2);

// Two lanes that have met, and a broker that is stopped from then on.
struct Scene {
  Scene() {
    a.connect(*qa, kLateAddress, qb->qpn());
    b.connect(*qb, kLateAddress, qa->qpn());
    a.write(*qa, 0, 64, 4096, b.key);
    met = a.wait().status == nic::Status::success;
    kill(broker, SIGSTOP);
  }
  ~Scene() { go_on(); }
  void go_on() const { kill(broker, SIGCONT); }
  bool write() {
    a.write(*qa, 0, 64, 4096, b.key);
    return a.wait(false).status == nic::Status::success;
  }
  TestLane a{small_lane_at(kLateAddress)}, b{small_lane_at(kLateAddress)};
  host::QueuePair *qa = a.make_qp(), *qb = b.make_qp();
  pid_t broker = process_of(call_broker());
  bool met = false;
};

// Bug: the lane's lock was held until the broker had answered, five seconds at most.
TEST(LateBroker, IsNotWaitedForByOneThatConnects) {
  alone([] {
    Scene scene;
    if (!scene.met) return false;
    host::QueuePair* qp = scene.a.make_qp();
    const auto began = Clock::now();
    scene.a.connect(*qp, kLateAddress, wire::Qpn(120U << wire::kLaneShift | 5));
    const bool written = scene.write();
    return written && Clock::now() - began < kTooLong;
  });
}

// Bug: the lane's thread waited for the line to the broker with the lane's lock, while the program used the line.
TEST(LateBroker, IsNotWaitedForByAnybodyElseWhileAPortIsBound) {
  alone([] {
    Scene scene;
    if (!scene.met) return false;
    std::atomic<bool> bound = false;
    std::thread binds([&] {
      (void)scene.a.lane.bind_service(0x0106, kLateAddress, 0);
      bound = true;
    });
    bool well = true;
    for (const auto began = Clock::now(); well && Clock::now() - began < std::chrono::milliseconds(500);) {
      const auto before = Clock::now();
      well = scene.write() && Clock::now() - before < kTooLong;
    }
    well = well && !bound;
    scene.go_on();
    binds.join();
    return well;
  });
}

// What it says at last is what is spoken.
TEST(LateBroker, IsHeardWhenItAnswers) {
  alone([] {
    TestLane c(small_lane_at(kLateAddress));  // whom nobody has met
    Scene scene;
    if (!scene.met) return false;
    host::QueuePair *of_a = scene.a.make_qp(), *of_c = c.make_qp();
    scene.a.connect(*of_a, kLateAddress, of_c->qpn());
    c.connect(*of_c, kLateAddress, of_a->qpn());
    scene.a.write(*of_a, 0, 64, 4096, c.key);
    if (dialect_of(scene.a, *of_a) != nic::Dialect::undecided) return false;
    scene.go_on();
    return scene.a.wait(false).status == nic::Status::success && dialect_of(scene.a, *of_a) == nic::Dialect::srnic &&
           dialect_of(c, *of_c) == nic::Dialect::srnic;
  });
}

}  // namespace
}  // namespace weft::real
