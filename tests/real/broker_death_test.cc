// A broker that is killed has a successor. Lanes that have not come back to it yet keep their numbers.
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "bare_lane.h"
#include "broker_list.h"
#include "lanes.h"
#include "world/real/broker/broker_client.h"

namespace weft::real {
namespace {

// An address of its own: a program that is stopped keeps its address from others.
const wire::Address kItsAddress = wire::Address::v4(127, 0, 13, 1);

// A program with one lane, which is stopped as long as nobody wakes it.
class StoppedProgram {
 public:
  StoppedProgram() {
    std::array<int, 2> told{-1, -1};
    if (pipe(told.data()) != 0) return;
    process_ = fork();
    if (process_ == 0) live(told[1]);
    close(told[1]);
    int status = 0;
    const bool stopped = waitpid(process_, &status, WUNTRACED) == process_ && WIFSTOPPED(status);
    if (!stopped || read(told[0], &number_, 1) != 1) number_ = 0;
    close(told[0]);
  }
  StoppedProgram(const StoppedProgram&) = delete;
  StoppedProgram& operator=(const StoppedProgram&) = delete;
  ~StoppedProgram() { end(); }

  [[nodiscard]] std::uint8_t number() const { return number_; }  // of its lane; 0: it has none
  [[nodiscard]] pid_t process() const { return process_; }
  void wake() const { kill(process_, SIGCONT); }
  void end() {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  [[noreturn]] static void live(int tell) {
    const TestLane lane(small_lane_at(kItsAddress));
    const std::uint8_t number = lane.lane.number();
    (void)!write(tell, &number, 1);
    raise(SIGSTOP);
    for (;;) pause();
  }

  pid_t process_ = 0;
  std::uint8_t number_ = 0;
};

// So many lanes as can join at one address, at most.
std::vector<BareLane> join_all() {
  std::vector<BareLane> out;
  for (;;) {
    BareLane next(1);
    if (next.lane_number == 0) return out;
    out.push_back(std::move(next));
  }
}

bool has(const std::vector<BareLane>& lanes, std::uint8_t number) {
  for (const BareLane& lane : lanes) {
    if (lane.lane_number == number) return true;
  }
  return false;
}

constexpr std::size_t kAllNumbers = wire::kLastLane - wire::kFirstLane + 1;

// Bug: the successor gave its number to the next who came, and the lane could not come back when it went on.
TEST(BrokersSuccessor, GivesNobodyTheNumberOfALaneThatIsStopped) {
  alone([] {
    const StoppedProgram stopped;
    if (stopped.number() == 0 || !kill_broker()) return false;
    const Conversation successor = reached_broker();
    {
      const std::vector<BareLane> newcomers = join_all();
      if (newcomers.size() != kAllNumbers - 1 || has(newcomers, stopped.number())) return false;
    }
    stopped.wake();
    return eventually([&] { return told_of(stopped.number())["process"] == stopped.process(); });
  });
}

// Nobody knows when that goes on: a newcomer need not wait for it.
TEST(BrokersSuccessor, RefusesTheAddressOfALaneThatIsStoppedSoon) {
  alone([] {
    const StoppedProgram stopped;
    if (stopped.number() == 0 || !kill_broker()) return false;
    Nobody owner;
    Lane newcomer(small_lane_at(kItsAddress), owner);
    const auto attached = newcomer.attach();
    return !attached && attached.error().code == EADDRINUSE;
  });
}

TEST(BrokersSuccessor, GivesTheNumberOfAStoppedLaneToOthersWhenThatHasEnded) {
  alone([] {
    StoppedProgram stopped;
    if (stopped.number() == 0 || !kill_broker()) return false;
    const Conversation successor = reached_broker();
    const std::vector<BareLane> newcomers = join_all();
    stopped.end();
    return newcomers.size() == kAllNumbers - 1 && BareLane(1).lane_number == stopped.number();
  });
}

// A lane number's owner is written down where every broker finds it, until the owner ends.
TEST(BrokersSuccessor, PassesOnWhatItsOwnSuccessorMustKnow) {
  alone([] {
    const StoppedProgram stopped;
    if (stopped.number() == 0 || !kill_broker() || !BrokerClient::is_there()) return false;
    if (!eventually([] { return broker_socket().empty(); })) return false;
    const Conversation next = reached_broker();
    return next && !has(join_all(), stopped.number());
  });
}

// One that lives on has its number at each broker, and others have theirs when it leaves.
TEST(BrokersSuccessor, IsToldByALaneThatComesBackWhenItLeaves) {
  alone([] {
    std::uint8_t number = 0;
    {
      const TestLane lane(small_lane_at(kItsAddress));
      number = lane.lane.number();
      for (int killed = 0; killed < 2; ++killed) {
        if (!kill_broker()) return false;
        if (!eventually([&] { return told_of(number)["process"] == getpid(); })) return false;
      }
      if (has(join_all(), number)) return false;
    }
    wait_until_gone(number);
    return join_all().size() == kAllNumbers;
  });
}

// The file that says so goes with the last who needs it.
TEST(BrokersSuccessor, LeavesNoFileBehindWhenAllHaveEnded) {
  alone([] {
    StoppedProgram stopped;
    const std::string path = broker_socket();
    if (path.empty() || stopped.number() == 0 || !kill_broker() || !BrokerClient::is_there()) return false;
    const auto is_there = [&](const char* what) { return std::filesystem::exists(path + what); };
    if (!eventually([&] { return !is_there(""); }) || !is_there(".lock")) return false;
    stopped.end();
    return BrokerClient::is_there() && eventually([&] { return !is_there("") && !is_there(".lock"); });
  });
}

}  // namespace
}  // namespace weft::real
