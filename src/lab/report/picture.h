// What a figure shows, for a page and for a file of its own.
#pragma once

#include <string>
#include <string_view>

namespace weft::lab {

struct Picture {
  std::string_view kind;  // classes of the page's style
  double width, height;   // in units that the page scales
  std::string words;      // the same for those who cannot see it
  std::string elements;   // SVG
};

}  // namespace weft::lab
