// Running other programs: a server and its client, each with a time limit, and what the client printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::cli {

struct BenchProgram {
  std::vector<std::string> words;                                   // program and arguments
  std::vector<std::pair<std::string, std::string>> variables = {};  // added to the environment
  int network = -1;  // a network namespace's descriptor; without: where we are
};

// Starts the server, gives it a moment, runs the client. What the client printed; nothing if it failed, did not end in
// time, or is not installed. The server is ended if it does not end by itself.
[[nodiscard]] std::optional<std::string> run_pair(const BenchProgram& server, const BenchProgram& client,
                                                  int limit_seconds);

struct Ended {
  int status;          // the exit code; -1: it did not end in time, or by a signal
  std::string output;  // standard output and standard error
};
// Runs one program that needs no other.
[[nodiscard]] Ended run_alone(const BenchProgram& job, int limit_seconds);

[[nodiscard]] bool is_installed(const std::string& program);

}  // namespace weft::cli
