// Times as people write them: 250ns, 10us, 1.5ms, never.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace weft::world {

// Exact: in the largest unit in which it is a whole number. parse_time reads it back.
[[nodiscard]] std::string time_text(Time time);

// A number, a unit (ps, ns, us, ms, s), or `never`; nothing for anything else, or for what no Time can hold.
[[nodiscard]] std::optional<Time> parse_time(std::string_view text);

}  // namespace weft::world
