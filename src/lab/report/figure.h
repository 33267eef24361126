// A figure on the page: its title, what its signs mean, the picture, and the numbers in it.
#pragma once

#include <string>

#include "lab/study.h"

namespace weft::lab {

[[nodiscard]] std::string figure_id(const Plan& plan, std::size_t plot);

// Links to figures/ID.svg and figures/ID.csv, which the two below are.
[[nodiscard]] std::string figure(const Study& study, const Plot& plot, const std::string& id);
// The picture alone, with what its signs mean, for papers and slides.
[[nodiscard]] std::string figure_svg(const Study& study, const Plot& plot, const std::string& id);
// Its numbers: a line for each point, with the half of the interval around its mean.
[[nodiscard]] std::string figure_csv(const Study& study, const Plot& plot);

}  // namespace weft::lab
