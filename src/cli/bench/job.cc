#include "cli/bench/job.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// In a group of its own, so that all of it can be ended; its output goes to `output`.
pid_t start(const BenchProgram& job, int output) {
  std::vector<char*> words;
  for (const std::string& w : job.words) words.push_back(const_cast<char*>(w.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (job.network >= 0 && setns(job.network, CLONE_NEWNET) != 0) _exit(126);
  for (const auto& [name, value] : job.variables) setenv(name.c_str(), value.c_str(), 1);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execvp(words[0], words.data());
  _exit(127);
}

// Its exit status; -1 if it had to be ended.
int finish(pid_t child, Clock::time_point until) {
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > until) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(2ms);
  }
  kill(-child, SIGKILL);  // whatever it left behind
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string contents(int file) {
  std::string text;
  char buffer[4096];
  lseek(file, 0, SEEK_SET);
  for (ssize_t n = 0; (n = read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

int temporary_file() {
  std::string name = std::filesystem::temp_directory_path() / "weft-bench-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) unlink(name.c_str());
  return file;
}

}  // namespace

bool is_installed(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "/usr/bin:/bin";
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    if (access((folders.substr(at, end - at) + "/" + program).c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

Ended run_alone(const BenchProgram& job, int limit_seconds) {
  const int output = temporary_file();
  if (output < 0) return {.status = -1, .output = "there is no room for a temporary file"};
  const int status = finish(start(job, output), Clock::now() + std::chrono::seconds(limit_seconds));
  Ended ended{.status = status, .output = contents(output)};
  close(output);
  return ended;
}

std::optional<std::string> run_pair(const BenchProgram& server, const BenchProgram& client, int limit_seconds) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), output = temporary_file();
  if (nowhere < 0 || output < 0) return std::nullopt;
  const pid_t serving = start(server, nowhere);
  std::this_thread::sleep_for(500ms);
  const int status = finish(start(client, output), Clock::now() + std::chrono::seconds(limit_seconds));
  (void)finish(serving, Clock::now() + (status == 0 ? 500ms : 0ms));
  std::string text = contents(output);
  close(nowhere);
  close(output);
  if (status != 0) return std::nullopt;
  return text;
}

}  // namespace weft::cli
