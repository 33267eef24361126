// The parts of a plan's file: settings, axes, figures, claims. Each adds to the plan that was read so far.
#pragma once

#include <vector>

#include <tl/expected.hpp>

#include "lab/plan.h"
#include "lab/study.h"
#include "lab/toml_reader.h"

namespace weft::lab {

// qps = 128, link_delay = "200 ns", contexts.entries = 1024
[[nodiscard]] tl::expected<std::vector<Override>, std::string> read_overrides(const toml::table& table,
                                                                              const FilePosition& place);
[[nodiscard]] tl::expected<void, std::string> read_axis(const toml::table& table, const FilePosition& place,
                                                        Plan& plan);
[[nodiscard]] tl::expected<void, std::string> read_plot(const toml::table& table, const FilePosition& place,
                                                        Plan& plan);
[[nodiscard]] tl::expected<void, std::string> read_claim(const toml::table& table, const FilePosition& place,
                                                         Plan& plan);

}  // namespace weft::lab
