// Folders that play /sys for programs that have ended.
#pragma once

#include <filesystem>

namespace weft::cli {

// Says that somebody is about to use this one.
void touch(const std::filesystem::path& folder);

// Removes some in `home`, but not `kept`, those that were touched a moment ago, or those of programs that run.
void remove_unused(const std::filesystem::path& home, const std::filesystem::path& kept);

}  // namespace weft::cli
