// All commands, in the order of `weft --help`.
#pragma once

#include <array>

#include "cli/command.h"

namespace weft::cli {

AddCommand add_run, add_devices, add_stat, add_explain, add_memory, add_bench, add_demo, add_reproduce, add_sim,
    add_profiles, add_bytecode;
inline constexpr std::array kCommands{add_run,  add_devices,   add_stat, add_explain,  add_memory,  add_bench,
                                      add_demo, add_reproduce, add_sim,  add_profiles, add_bytecode};

}  // namespace weft::cli
