// The small language in which a claim says what of the results it is about.
//
//   CX6.mac_gbps              a curve: a series' metric at every x of the sweep
//   CX6.mac_gbps[16384]       its value at that x
//   CX6{bytes=512}.mac_gbps   where more than one thing is swept: along the one that is not fixed
//   card.qpc                  a number of the card itself (card_measures.h)
//   min(c) max(c) mean(c) first(c) last(c)    of a curve
//   argmin(c) argmax(c)       the x where it is least, most
//   knee(c, 0.95)             the largest x up to which it stays at or above that fraction of its maximum
//   rises(c, x) falls(c, x)   1 if every later point is larger (smaller) than the one at x, or else 0
//   + - * / ( )               between numbers, and point by point between curves
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "lab/study.h"

namespace weft::lab {

[[nodiscard]] tl::expected<double, std::string> evaluate(std::string_view expression, const Study& study,
                                                         const Sample& sample);

// Is this a word of it? Names of series are words.
[[nodiscard]] bool mentions(std::string_view expression, std::string_view name);

}  // namespace weft::lab
