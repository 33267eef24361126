// Programs start the broker. They see nothing of that, and as many as like may do so at once.
#include <array>
#include <cerrno>
#include <csignal>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "lanes.h"
#include "world/real/broker/broker_client.h"

namespace weft::real {
namespace {

volatile sig_atomic_t children_ended = 0;

// Bug: a program found a child that it had not started, and was told of its end.
TEST(BrokerStart, GivesTheProgramNoChild) {
  alone([] {
    struct sigaction count {};
    count.sa_handler = [](int) { children_ended = children_ended + 1; };
    sigaction(SIGCHLD, &count, nullptr);
    if (!BrokerClient::is_there()) return false;
    int status = 0;
    const bool childless = waitpid(-1, &status, WNOHANG | __WALL) == -1 && errno == ECHILD;
    Conversation broker = call_broker();
    return childless && children_ended == 0 && answers(broker, kPatienceMilliseconds);
  });
}

// A program that ignores the ends of its children has none whose end it could wait for.
TEST(BrokerStart, SucceedsForAProgramThatIgnoresItsChildren) {
  alone([] {
    std::signal(SIGCHLD, SIG_IGN);
    return BrokerClient::is_there();
  });
}

TEST(BrokerStart, SaysThatItCannotBeStarted) {
  alone([] {
    setenv("WEFT_BROKER", "/nonexistent/weft-broker", 1);
    return !BrokerClient::is_there();
  });
}

// As the ranks of an MPI program do.
TEST(BrokerStart, SucceedsForManyProgramsAtOnce) {
  constexpr int kPrograms = 20, kRounds = 8;
  const auto start = [] {
    std::array<int, 2> gate{-1, -1};
    if (pipe(gate.data()) != 0) return false;
    std::vector<pid_t> programs;
    for (int i = 0; i < kPrograms; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        close(gate[1]);
        char end = 0;
        (void)!read(gate[0], &end, 1);  // until all are there
        const TestLane lane(small_lane_at(wire::Address::v4(127, 0, 9, 1)));
        _exit(lane.lane.number() != 0 ? kWell : kNotWell);
      }
      programs.push_back(child);
    }
    close(gate[0]);
    close(gate[1]);
    int failed = 0;
    for (const pid_t program : programs) {
      int status = 0;
      failed += waitpid(program, &status, 0) == program && WIFEXITED(status) && WEXITSTATUS(status) == kWell ? 0 : 1;
    }
    return failed == 0;
  };
  for (int round = 0; round < kRounds; ++round) alone(start);
}

}  // namespace
}  // namespace weft::real
