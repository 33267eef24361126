// A text as one cell of a CSV file (RFC 4180).
#pragma once

#include <string>

namespace weft::lab {

[[nodiscard]] inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

}  // namespace weft::lab
