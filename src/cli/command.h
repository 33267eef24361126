// A command of `weft`. Adding one: a file that defines add_NAME, and its name in commands.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace weft::cli {

inline constexpr int kOk = 0, kFailed = 1, kUsage = 2;

// What stands behind `--`; nothing if there is no `--`.
using Behind = std::optional<std::vector<std::string>>;

struct Command {
  CLI::App* app = nullptr;    // its name, help and options
  std::function<int()> run;   // called when it was named; answers the exit code
  bool takes_behind = false;  // words behind `--` mean something to it
};

// `behind` outlives the command and is filled when it is run.
using AddCommand = Command(CLI::App& weft, const Behind& behind);

// Says on standard error what was asked wrongly; answers kUsage.
int usage_error(std::string_view what);

}  // namespace weft::cli
