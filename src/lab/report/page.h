// The report: one page with every figure and every claim. It needs no network and no other file, and the same results
// give the same page.
#pragma once

#include <string>
#include <vector>

#include "lab/study.h"

namespace weft::lab {

[[nodiscard]] std::string html_page(const std::vector<Study>& studies);

}  // namespace weft::lab
