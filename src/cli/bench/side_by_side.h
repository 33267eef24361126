// The order in which a bench measures.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/bench/measure.h"

namespace weft::cli {

// The same measures, each followed by those that it is compared with, unless they stand before it already.
[[nodiscard]] inline std::vector<Measure> side_by_side(std::vector<Measure> measures) {
  std::vector<Measure> out;
  std::vector<bool> placed(measures.size(), false);
  const auto put = [&](std::size_t i) {
    if (placed[i]) return;
    placed[i] = true;
    out.push_back(measures[i]);
  };
  for (std::size_t i = 0; i < measures.size(); ++i) {
    put(i);
    for (const Measure::Beside& beside : measures[i].besides) {
      for (std::size_t j = 0; j < measures.size(); ++j) {
        if (measures[j].name == beside.name) put(j);
      }
    }
  }
  return out;
}

}  // namespace weft::cli
