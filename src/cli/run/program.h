// The program that `weft run` starts: where it is, and whether it will take Weft's libraries.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace weft::cli {

inline constexpr int kNotExecutable = 126, kNotFound = 127;  // as shells have it

struct NotStarted {
  int exit_code = kNotFound;
  std::string why;
};

// The file that execvp would start.
[[nodiscard]] tl::expected<std::string, NotStarted> find_program(const std::string& name);

// Why the program in this file will not meet Weft's libraries, as far as the file tells; empty if it will.
[[nodiscard]] std::string why_untouched(const std::string& file);

// Becomes the program; comes back only if that fails.
[[nodiscard]] NotStarted become(const std::vector<std::string>& command);

}  // namespace weft::cli
