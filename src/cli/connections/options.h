// What weft-connections is asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace weft::connections {

enum class Verb : std::uint8_t { send, write };

inline constexpr std::uint32_t kMostConnections = 1U << 17, kMostDepth = 1024, kMostBytes = 1U << 20;

struct Options {
  std::vector<std::uint32_t> qps{1, 16, 128, 1024, 10000};
  std::uint32_t depth = 128;  // requests that each connection keeps under way
  Verb verb = Verb::send;
  std::uint32_t bytes = 512, rounds = 5, milliseconds = 200;
  bool json = false;
  bool idle = true;  // also measure the memory of an idle connection
};

// The words behind the program's name; else what is wrong with them.
[[nodiscard]] tl::expected<Options, std::string> parse_options(std::span<char* const> words);

}  // namespace weft::connections
