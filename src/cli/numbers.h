// Numbers as people write them on a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::cli {

// A probability, 0 ... 1: 1%, 0.5%, 0.01. Nothing for anything else.
[[nodiscard]] std::optional<double> parse_probability(std::string_view text);

// Digits, all of them, and no more than fit. Nothing for anything else.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text);

}  // namespace weft::cli
