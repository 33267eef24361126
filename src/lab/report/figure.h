// A figure on the page: its title, what its signs mean, the picture, and the numbers in it.
#pragma once

#include <string>

#include "lab/study.h"

namespace weft::lab {

[[nodiscard]] std::string figure(const Study& study, const Plot& plot, const std::string& id);

}  // namespace weft::lab
