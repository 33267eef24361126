// All commands, in the order of `weft --help`.
#pragma once

#include <array>

#include "cli/command.h"

namespace weft::cli {

AddCommand add_run, add_devices, add_stat, add_explain, add_bench, add_demo;
inline constexpr std::array kCommands{add_run, add_devices, add_stat, add_explain, add_bench, add_demo};

}  // namespace weft::cli
