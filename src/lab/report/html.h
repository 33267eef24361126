// Text in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace weft::lab {

[[nodiscard]] inline std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace weft::lab
