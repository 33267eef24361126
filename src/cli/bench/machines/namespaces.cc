#include "cli/bench/machines/namespaces.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench/job.h"

namespace weft::cli {
namespace {

constexpr int kIpSeconds = 10;

// Says by `ready` how it went (errno), and keeps the namespace until it is killed, or its parent has ended.
[[noreturn]] void keep_network(int ready, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int code = unshare(CLONE_NEWNET) == 0 ? 0 : errno;
  if (write(ready, &code, sizeof code) != sizeof code || code != 0) _exit(1);
  close(ready);
  while (getppid() == parent) pause();
  _exit(0);
}

void end_keeper(pid_t keeper) {
  if (keeper <= 0) return;
  kill(keeper, SIGKILL);
  waitpid(keeper, nullptr, 0);
}

tl::expected<void, std::string> run_ip(int network, const std::string& words) {
  BenchProgram ip{.words = {"ip"}, .network = network};
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    ip.words.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  const Ended ended = run_alone(ip, kIpSeconds);
  if (ended.status == 0) return {};
  return tl::unexpected(fmt::format("ip {}: {}", words, ended.output));
}

}  // namespace

TwoMachines::~TwoMachines() {
  for (Machine& one : machines_) end_keeper(one.keeper);
}

TwoMachines::TwoMachines(TwoMachines&& other) noexcept : machines_(std::exchange(other.machines_, {})) {}

tl::expected<TwoMachines::Machine, std::string> TwoMachines::make_machine() {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) return tl::unexpected(std::string("no pipe can be had"));
  const pid_t parent = getpid();
  Machine machine;
  machine.keeper = fork();
  if (machine.keeper == 0) keep_network(ready[1], parent);
  close(ready[1]);
  int code = ECHILD;
  const bool heard = read(ready[0], &code, sizeof code) == sizeof code && code == 0;
  close(ready[0]);
  if (heard) {
    const std::string path = fmt::format("/proc/{}/ns/net", machine.keeper);
    machine.network = real::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    code = errno;
  }
  if (machine.network) return machine;
  end_keeper(machine.keeper);
  return tl::unexpected(fmt::format("a network namespace cannot be made: {}{}", std::strerror(code),
                                    code == EPERM ? " (that takes root, or CAP_SYS_ADMIN and CAP_NET_ADMIN)" : ""));
}

std::string TwoMachines::address(std::size_t machine, std::size_t wire, int ip_version) {
  return ip_version == 4 ? fmt::format("10.77.{}.{}", wire, machine + 1)
                         : fmt::format("fd77:{}::{}", wire, machine + 1);
}

tl::expected<void, std::string> TwoMachines::join() const {
  std::vector<std::pair<int, std::string>> steps;
  for (std::size_t wire = 0; wire < kMtus.size(); ++wire) {
    steps.emplace_back(network(0),
                       fmt::format("link add eth{0} type veth peer name eth{0} netns {1}", wire, machines_[1].keeper));
  }
  for (std::size_t machine = 0; machine < machines_.size(); ++machine) {
    steps.emplace_back(network(machine), "link set lo up");
    for (std::size_t wire = 0; wire < kMtus.size(); ++wire) {
      steps.emplace_back(network(machine), fmt::format("address add {}/24 dev eth{}", address(machine, wire, 4), wire));
      steps.emplace_back(network(machine),
                         fmt::format("address add {}/64 dev eth{} nodad", address(machine, wire, 6), wire));
      steps.emplace_back(network(machine), fmt::format("link set eth{} mtu {} up", wire, kMtus[wire]));
    }
  }
  for (const auto& [network, words] : steps) {
    if (auto done = run_ip(network, words); !done) return done;
  }
  return {};
}

tl::expected<TwoMachines, std::string> TwoMachines::make() {
  if (!is_installed("ip")) return tl::unexpected(std::string("ip is not installed: scripts/bootstrap brings iproute2"));
  TwoMachines both;
  for (Machine& one : both.machines_) {
    auto made = make_machine();
    if (!made) return tl::unexpected(made.error());
    one = std::move(*made);
  }
  if (auto joined = both.join(); !joined) return tl::unexpected(joined.error());
  return both;
}

}  // namespace weft::cli
