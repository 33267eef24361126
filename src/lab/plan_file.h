// Reads a plan from TOML; docs/experiments.md has the format. What makes no sense is refused, with file, line and
// reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "lab/plan.h"
#include "lab/profile_shelf.h"

namespace weft::lab {

// `file` is what errors call it; profiles that are paths stand beside `folder`.
[[nodiscard]] tl::expected<Plan, std::string> read_plan(std::string_view text, const std::string& file,
                                                        const ProfileShelf& profiles,
                                                        const std::filesystem::path& folder = {});

// The plans that the program was built with, in the order of their files' names.
[[nodiscard]] tl::expected<std::vector<Plan>, std::string> library_plans(const ProfileShelf& profiles);

}  // namespace weft::lab
