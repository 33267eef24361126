// A page in the look of the report, whatever it tells. It needs no network and no other file.
#pragma once

#include <string>
#include <string_view>

namespace weft::lab {

// `title` is text; `header` and `main` are HTML.
[[nodiscard]] std::string html_frame(std::string_view title, std::string_view header, std::string_view main);

}  // namespace weft::lab
