// Clients that GET, each one after the other, and what that took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "getter.h"

namespace kv {

struct ClientOptions {
  ServerPlace server;
  std::string by = "kernel";  // or bytecode, reads, tcp
  std::string object;         // the file of the kernel that is deployed: bytecode
  std::size_t clients = 1, keys = 100'000, value_bytes = 64;
  std::uint32_t milliseconds = 1000;
  std::uint32_t puts = 0;  // a second, by TCP, meanwhile
  bool json = false;
};

// Prints a line. False: a value was not what had been PUT there, or none came.
[[nodiscard]] bool run_clients(const ClientOptions& options);

}  // namespace kv
