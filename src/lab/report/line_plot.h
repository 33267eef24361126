// A figure of lines as SVG: what was measured with a marker at each point, what is claimed, and where it would be met.
#pragma once

#include <string>
#include <string_view>

#include "lab/report/picture.h"
#include "lab/study.h"

namespace weft::lab {

// The colours are the page's.
[[nodiscard]] Picture line_plot(const Study& study, const Plot& plot);

inline constexpr std::size_t kLineStyles = 6;  // colours and signs, then they begin again
// The style of each line. A card looks the same in every figure, unless a figure has several lines of one card.
[[nodiscard]] std::vector<std::size_t> styles_of(const Study& study, const std::vector<Line>& lines);
// The sign of a style, around (x, y); for figures and their legends.
[[nodiscard]] std::string marker(std::size_t style, double x, double y, std::string_view title);

}  // namespace weft::lab
