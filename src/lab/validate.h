// Whether a setting can be run at all, as far as that shows before it is.
#pragma once

#include <string>

#include "lab/setting.h"

namespace weft::lab {

// Empty, or what is wrong.
[[nodiscard]] std::string validate(const Setting& setting);

}  // namespace weft::lab
