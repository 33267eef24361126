// The report: one page with every figure and every claim. It needs no network and no other file, and the same results
// give the same page.
#pragma once

#include <string>
#include <vector>

#include "lab/study.h"

namespace weft::lab {

// `sensitivity`: a page about that (tornado.h) stands beside this one.
[[nodiscard]] std::string html_page(const std::vector<Study>& studies, bool sensitivity = false);

}  // namespace weft::lab
