// Tornado charts: for each row of a claim, how far each number of the cards moves it, the widest first; what flips its
// verdict is marked.
#pragma once

#include <string>
#include <vector>

#include "lab/sensitivity.h"

namespace weft::lab {

// A page of its own. It needs no network and no other file.
[[nodiscard]] std::string sensitivity_page(const std::vector<Sensitivity>& all);

}  // namespace weft::lab
