// Every number that a profile can set.
#pragma once

#include <span>

#include "lab/field.h"
#include "lab/profile.h"

namespace weft::lab {

[[nodiscard]] std::span<const Field<Profile>> profile_fields();
[[nodiscard]] const Field<Profile>* find_profile_field(std::string_view key);

}  // namespace weft::lab
