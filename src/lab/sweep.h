// Runs many settings on several threads. What comes out does not depend on how many.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "lab/study.h"

namespace weft::lab {

struct Progress {
  std::size_t done, total;
  double seconds_left;  // a guess from the time so far; less than 0: nothing is known yet
};

struct SweepOptions {
  unsigned jobs = 0;                                 // threads; 0: as many as there are processors
  std::function<void(const Progress&)> on_progress;  // called by one thread at a time
  std::function<Outcome(const Setting&)> run = lab::run;
};

// The outcome of each setting, in their order. Equal settings are run once. What a run throws becomes its failure.
[[nodiscard]] std::vector<PointResult> run_all(std::span<const Setting* const> settings, const SweepOptions& options);

// All studies at once. They have their points, and samples with their numbers; those get their results.
void run_studies(std::span<Study> studies, const SweepOptions& options);

}  // namespace weft::lab
