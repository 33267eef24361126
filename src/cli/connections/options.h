// What weft-connections is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace weft::connections {

enum class LoadVerb : std::uint8_t { send, write, read };

inline constexpr std::uint32_t kMostConnections = 1U << 17, kMostDepth = 1024, kMostBytes = 1U << 20, kMostClients = 64;

struct Options {
  std::vector<std::uint32_t> qps{1, 16, 128, 1024, 10000};
  std::uint32_t depth = 128;  // requests that each connection keeps under way
  LoadVerb verb = LoadVerb::send;
  std::uint32_t bytes = 512, rounds = 5, milliseconds = 200;
  bool json = false;
  bool idle = true;  // also measure the memory of an idle connection
  // A server and so many client programs, instead of two processes; what else they find in their environment.
  std::uint32_t clients = 0;
  std::vector<std::pair<std::string, std::string>> client_variables{};
};

// The words behind the program's name; else what is wrong with them.
[[nodiscard]] tl::expected<Options, std::string> parse_options(std::span<char* const> words);

}  // namespace weft::connections
