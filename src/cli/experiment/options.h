// What `weft reproduce` and `weft sim` have in common on the command line.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <tl/expected.hpp>

#include "lab/profile_shelf.h"

namespace weft::cli {

struct ExperimentOptions {
  bool quick = false, json = false;
  std::string csv, report, seed, jobs;
  std::vector<std::string> profiles;
};

void add_experiment_options(CLI::App& app, ExperimentOptions& options);

// The profiles that the program carries, and those of --profiles.
[[nodiscard]] tl::expected<lab::ProfileShelf, std::string> shelf_of(const std::vector<std::string>& paths);

}  // namespace weft::cli
