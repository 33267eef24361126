// What `weft reproduce` and `weft sim` have in common on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <tl/expected.hpp>

#include "lab/plan.h"
#include "lab/profile_shelf.h"

namespace weft::cli {

struct ExperimentOptions {
  bool quick = false, json = false;
  std::string csv, report, seed, seeds, jobs;
  std::vector<std::string> profiles;
};

void add_experiment_options(CLI::App& app, ExperimentOptions& options);

// What --seed, --seeds and --jobs say.
struct CommonOptions {
  std::optional<std::uint64_t> seed;
  std::optional<std::size_t> seeds;
  unsigned jobs = 0;  // 0: as many as there are processors
};
[[nodiscard]] tl::expected<CommonOptions, std::string> common_options(const ExperimentOptions& options);

// How many seeds a plan runs with, unless --seeds says so: several where there are claims.
[[nodiscard]] std::size_t usual_seeds(const lab::Plan& plan, bool quick);

// The profiles that the program carries, and those of --profiles.
[[nodiscard]] tl::expected<lab::ProfileShelf, std::string> shelf_of(const std::vector<std::string>& paths);

// Says of each of --profiles that none of these plans uses it, or one that extends it.
void say_unused(const std::vector<std::string>& paths, const std::vector<lab::Plan>& plans);

}  // namespace weft::cli
